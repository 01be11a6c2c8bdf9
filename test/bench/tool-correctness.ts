import type { JsonObject } from '../../src/model/json.js';
import { toolCorrectness } from '../../src/score/tool-correctness.js';
import { uniform } from '../support/beta-draws.js';

interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly step: number;
}

/** Calls of three arguments, made and expected. */
export interface ToolWorkload {
  readonly workload: string;
  readonly calls: number;
  readonly used: readonly Call[];
  readonly expected: readonly Call[];
  /** The usual case, of which the reference figures are. */
  readonly asExpected: boolean;
}

const ROUNDS = 15;
const EVALUATIONS = 5_000;

/**
 * CPU microseconds of one evaluation, garbage collection and all, for each workload: the median of the rounds, which go
 * from workload to workload in turn, so that what else the machine does meets all of them.
 */
export function benchToolCorrectness(workloads: readonly ToolWorkload[]): readonly number[] {
  const inputs = workloads.map(({ used, expected }) => ({ used, expected, utilization: true }));
  const times = inputs.map(() => [] as number[]);
  for (let round = -2; round < ROUNDS; round += 1) {
    inputs.forEach((input, at) => {
      const before = process.cpuUsage();
      for (let i = 0; i < EVALUATIONS; i += 1) toolCorrectness(input);
      const { user, system } = process.cpuUsage(before);
      // The first rounds are the compiler's.
      if (round >= 0) times[at]?.push((user + system) / EVALUATIONS);
    });
  }
  return times.map((of) => of.sort((a, b) => a - b)[ROUNDS >> 1] as number);
}

/**
 * 1, 3 and 10 calls: of different tools, as expected and with one wrong value each; of one tool in the wrong order, right
 * and with a wrong value each, where every pair has to be compared; and of one tool with values at random, where calls
 * compete for the same partner.
 */
export function toolWorkloads(): readonly ToolWorkload[] {
  const random = uniform(7);
  const oneOfThree = () => Math.floor(3 * random());
  const wrong = (call: Call): Call => ({ ...call, arguments: { ...call.arguments, limit: -1 } });
  const anyValue = (call: Call): Call => ({
    ...call,
    arguments: { city: `city ${oneOfThree()}`, unit: `unit ${oneOfThree()}`, limit: oneOfThree() },
  });
  return [1, 3, 10].flatMap((calls) => {
    const different = callsOf(calls, (i) => `tool_${i}`);
    const same = callsOf(calls, () => 'tool');
    const load = (workload: string, used: readonly Call[], expected: readonly Call[], asExpected = false) => ({
      workload,
      calls,
      used,
      expected,
      asExpected,
    });
    return [
      load(
        'different tools, as expected',
        different,
        callsOf(calls, (i) => `tool_${i}`),
        true,
      ),
      load('different tools, one value wrong each', different.map(wrong), different),
      load(
        'one tool, in reverse order',
        same.toReversed(),
        callsOf(calls, () => 'tool'),
      ),
      load('one tool, in reverse order, one value wrong each', same.map(wrong).reverse(), same),
      load('one tool, values at random', same.map(anyValue), same.map(anyValue)),
    ];
  });
}

function callsOf(calls: number, name: (i: number) => string): Call[] {
  return Array.from({ length: calls }, (_, i) => ({
    name: name(i),
    arguments: { city: `city ${i}`, unit: 'celsius', limit: i },
    step: i + 1,
  }));
}
