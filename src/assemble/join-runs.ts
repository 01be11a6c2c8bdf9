import { inOrder } from './in-order.js';
import type { IssuedCall } from './issued-calls.js';
import type { ToolRun } from './tool-runs.js';

/**
 * Gives each tool run to the issued call that it carried out; what is left over was not asked for in any message
 * that was recorded. An id joins only within the turn and never alone: frameworks repeat ids, or give none. So the
 * passes go from what is certain to what is merely likely, each pairing in order, first within one agent:
 *
 * 1. same id and same arguments; 2. same id; 3. same name and arguments; 4. same name, one side without arguments;
 * 5. same name, other arguments, no second id to speak against it, and run between the call and the next of its agent.
 *
 * A run that is left over with the id and the arguments of a joined one is another recording of it, or another
 * attempt after a failure; so is a run that resumes one that waited for a person.
 */
export function joinRuns(issued: readonly IssuedCall[], runs: readonly ToolRun[]): readonly (readonly ToolRun[])[] {
  if (runs.length === 0) return [];
  const calls = inOrder(issued, byOrder);
  const free = new Set(runs);
  // Where no id is repeated, the first pass finds nothing that the second does not find without comparing arguments.
  const unique = allDistinct(calls.map(({ id }) => id)) && allDistinct(runs.map(({ callId }) => callId));
  for (const pass of unique ? PASSES.slice(1) : PASSES) {
    if (free.size === 0) return [];
    const buckets = bucket(free, pass.runKey);
    for (const sameAgent of [true, false]) {
      for (const call of calls) {
        if (call.runs.length > 0 || (pass.weak === true && call.tentative)) continue;
        for (const key of pass.callKeys(call)) {
          const run = take(buckets.get(key), call, free, sameAgent, pass);
          if (run === undefined) continue;
          call.runs.push(run);
          free.delete(run);
          break;
        }
      }
    }
  }
  joinRepeats(calls, free);
  return groupRepeats(free);
}

function allDistinct(ids: readonly (string | undefined)[]): boolean {
  const known = ids.filter((id) => id !== undefined);
  return known.length < 2 || new Set(known).size === known.length;
}

/** What no message asked for: each group is one call. */
function groupRepeats(free: ReadonlySet<ToolRun>): ToolRun[][] {
  const groups: ToolRun[][] = [];
  const byKey = new Map<string, ToolRun[][]>();
  for (const run of free) {
    const key = repeatKey(run);
    const same = byKey.get(key) ?? [];
    const repeated = same.find((group) => isRepeat(run, group[group.length - 1] as ToolRun));
    if (repeated !== undefined) {
      repeated.push(run);
      continue;
    }
    const group = [run];
    groups.push(group);
    same.push(group);
    byKey.set(key, same);
  }
  return groups;
}

/** Recordings and attempts of one call have the same. */
function repeatKey(run: ToolRun): string {
  return `${run.name}\n${run.argumentsKey ?? ''}`;
}

/** Order of issue. */
export function byOrder(a: IssuedCall, b: IssuedCall): number {
  if (a.orderNano !== b.orderNano) return a.orderNano < b.orderNano ? -1 : 1;
  return a.orderIndex - b.orderIndex;
}

interface Pass {
  readonly callKeys: (call: IssuedCall) => readonly string[];
  readonly runKey: (run: ToolRun) => string | null;
  readonly test?: (call: IssuedCall, run: ToolRun) => boolean;
  /** Too weak to show that a failed attempt's call was carried out. */
  readonly weak?: boolean;
}

/** Different ids on both sides. */
const otherId = (call: IssuedCall, run: ToolRun): boolean =>
  call.id !== undefined && run.callId !== undefined && call.id !== run.callId;

/** Some spans have a name that is only part of the model's, or that of a class: an id of their own says enough. */
const related = (a: string, b: string): boolean => a === '' || b === '' || a === b || a.endsWith(b) || b.endsWith(a);

const PASSES: readonly Pass[] = [
  {
    callKeys: (call) => (call.id === undefined ? [] : call.argumentsKeys.map((key) => `${call.id}\n${key}`)),
    runKey: ({ callId, argumentsKey }) =>
      callId === undefined || argumentsKey === null ? null : `${callId}\n${argumentsKey}`,
    test: (call, run) => related(call.name, run.name),
  },
  {
    callKeys: (call) => (call.id === undefined ? [] : [call.id]),
    runKey: (run) => run.callId ?? null,
    test: (call, run) => related(call.name, run.name),
  },
  {
    callKeys: (call) => call.argumentsKeys.map((key) => `${call.name}\n${key}`),
    runKey: ({ name, argumentsKey }) => (argumentsKey === null ? null : `${name}\n${argumentsKey}`),
  },
  {
    callKeys: (call) => [call.name],
    runKey: (run) => run.name,
    test: (call, run) => !otherId(call, run) && (call.argumentsKeys.length === 0 || run.argumentsKey === null),
    weak: true,
  },
  {
    callKeys: (call) => [call.name],
    runKey: (run) => run.name,
    test: (call, run) => !otherId(call, run) && (call.by === null || run.startNano >= call.by.endNano),
    weak: true,
  },
];

function bucket(runs: Iterable<ToolRun>, keyOf: (run: ToolRun) => string | null): Map<string, ToolRun[]> {
  const buckets = new Map<string, ToolRun[]>();
  for (const run of runs) {
    const key = keyOf(run);
    if (key === null) continue;
    const list = buckets.get(key);
    if (list === undefined) buckets.set(key, [run]);
    else list.push(run);
  }
  return buckets;
}

/** The first free run that passes, preferably one that began after its model call had ended. */
function take(
  list: ToolRun[] | undefined,
  call: IssuedCall,
  free: ReadonlySet<ToolRun>,
  sameAgent: boolean,
  pass: Pass,
): ToolRun | undefined {
  if (list === undefined) return undefined;
  const fits = (run: ToolRun) =>
    free.has(run) && (!sameAgent || run.agent === call.agent) && (pass.test?.(call, run) ?? true);
  const asked = call.by?.endNano ?? call.orderNano;
  // Clocks differ between hosts, so time only breaks ties.
  return list.find((run) => fits(run) && run.startNano >= asked) ?? list.find(fits);
}

function joinRepeats(calls: readonly IssuedCall[], free: Set<ToolRun>): void {
  if (free.size === 0) return;
  const done = bucket(
    calls.flatMap((call) => call.runs),
    repeatKey,
  );
  const owner = new Map(calls.flatMap((call) => call.runs.map((run) => [run, call] as const)));
  for (const run of free) {
    const same = done.get(repeatKey(run))?.find((other) => isRepeat(run, other));
    if (same === undefined) continue;
    owner.get(same)?.runs.push(run);
    free.delete(run);
  }
}

/** Is a run of the same tool and arguments another recording or attempt of one call? */
function isRepeat(run: ToolRun, earlier: ToolRun): boolean {
  if (earlier.waits) return run.startNano >= earlier.startNano;
  if (run.callId === undefined || run.callId !== earlier.callId) return false;
  return run.overlaps(earlier) || earlier.failure !== undefined;
}
