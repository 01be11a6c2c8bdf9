import type { ExpectedCall } from '../../src/model/expectation.js';
import type { MadeCall } from '../../src/score/assess-tools.js';
import { toolCorrectness } from '../../src/score/tool-correctness.js';

export interface ToolCorrectnessBench {
  readonly workload: string;
  readonly calls: number;
  /** CPU microseconds for one evaluation, garbage collection and all: the best of several rounds. */
  readonly micros: number;
}

const ROUNDS = 7;

/**
 * Time of one evaluation of tool correctness for 1, 3 and 10 calls of three arguments: calls of different tools made as
 * expected, the same with one wrong value each, and calls of one tool in the wrong order, right and wrong; only the last
 * need the assignment.
 */
export function benchToolCorrectness(evaluations = 20_000): readonly ToolCorrectnessBench[] {
  return [1, 3, 10].flatMap((calls) =>
    Object.entries(WORKLOADS).map(([workload, build]) => {
      const input = build(calls);
      let micros = Infinity;
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = process.cpuUsage();
        for (let i = 0; i < evaluations; i += 1) toolCorrectness(input);
        const { user, system } = process.cpuUsage(before);
        micros = Math.min(micros, (user + system) / evaluations);
      }
      return { workload, calls, micros };
    }),
  );
}

interface Input {
  readonly used: readonly MadeCall[];
  readonly expected: readonly ExpectedCall[];
  readonly utilization: boolean;
}

const WORKLOADS: Readonly<Record<string, (calls: number) => Input>> = {
  'different tools, as expected': (calls) => ({
    used: madeCalls(calls, (i) => `tool_${i}`),
    expected: madeCalls(calls, (i) => `tool_${i}`),
    utilization: true,
  }),
  'different tools, one value wrong each': (calls) => ({
    used: madeCalls(calls, (i) => `tool_${i}`).map((call) => ({
      ...call,
      arguments: { ...call.arguments, limit: -1 },
    })),
    expected: madeCalls(calls, (i) => `tool_${i}`),
    utilization: true,
  }),
  'one tool, in reverse order': (calls) => ({
    used: madeCalls(calls, () => 'tool').reverse(),
    expected: madeCalls(calls, () => 'tool'),
    utilization: true,
  }),
  'one tool, in reverse order, one value wrong each': (calls) => ({
    used: madeCalls(calls, () => 'tool')
      .reverse()
      .map((call) => ({ ...call, arguments: { ...call.arguments, limit: -1 } })),
    expected: madeCalls(calls, () => 'tool'),
    utilization: true,
  }),
};

function madeCalls(calls: number, name: (i: number) => string) {
  return Array.from({ length: calls }, (_, i) => ({
    name: name(i),
    arguments: { city: `city ${i}`, unit: 'celsius', limit: i },
    step: i + 1,
  }));
}
