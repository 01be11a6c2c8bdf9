import { spawnSync } from 'node:child_process';
import type { ToolWorkload } from './tool-correctness.js';

/** CPU microseconds of one evaluation by the libraries that people come from. */
export interface PythonReference {
  /** Where the figures are from. */
  readonly source: string;
  /** null where it was not measured. */
  readonly tools: (library: 'gaussia' | 'deepeval', workload: ToolWorkload) => number | null;
  /** One figure with its interval from 5000 draws; null where it was not measured. */
  readonly estimateMicros: number | null;
}

/** Calls of different tools, made as expected; by number of calls. */
const MEASURED = {
  gaussia: { 1: 5.9, 3: 8.6, 10: 16.5 },
  deepeval: { 1: 152, 3: 316, 10: 1275 },
} as const;

/** What was measured once on a machine of the same kind (CPython 3.11, DeepEval's `measure()`), for want of Python here. */
export const MEASURED_BEFORE: PythonReference = {
  source: 'measured before, on a machine of the same kind',
  tools: (library, { asExpected, calls }) => (asExpected ? (MEASURED[library][calls as 1 | 3 | 10] ?? null) : null),
  estimateMicros: null,
};

interface Answer {
  readonly versions: Readonly<Record<string, string | null>>;
  readonly tools: readonly { library: string; workload: string; calls: number; micros: number }[];
  readonly estimateMicros: number | null;
}

/** Times the libraries that are installed for this Python, on the same calls. `script`: python-reference.py. */
export function measurePython(python: string, script: string, workloads: readonly ToolWorkload[]): PythonReference {
  const call = ({ name, arguments: parameters, step }: ToolWorkload['used'][number]) => ({
    tool_name: name,
    parameters,
    step,
  });
  const request = {
    rounds: 9,
    evaluations: 2_000,
    workloads: workloads.map(({ workload, calls, used, expected }) => ({
      workload,
      calls,
      used: used.map(call),
      expected: expected.map(call),
    })),
  };
  const run = spawnSync(python, [script], { input: JSON.stringify(request), encoding: 'utf8', maxBuffer: 1e8 });
  if (run.status !== 0) {
    throw new Error(`${python} ${script} failed: ${run.error?.message ?? run.stderr.slice(-2_000)}`);
  }
  const { versions, tools, estimateMicros } = JSON.parse(run.stdout) as Answer;
  const named = Object.entries(versions).map(([library, version]) => `${library} ${version ?? '(not installed)'}`);
  return {
    source: `measured now: ${named.join(', ')}`,
    tools: (library, { workload, calls }) =>
      tools.find((row) => row.library === library && row.workload === workload && row.calls === calls)?.micros ?? null,
    estimateMicros,
  };
}
