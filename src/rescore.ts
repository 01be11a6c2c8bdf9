/**
 * Grading again what is in the store: what the judge had no word on, or everything under another policy.
 *
 * Interactions come page by page in order of start, each page read just before it is judged, so that what was healed by
 * somebody else meanwhile is seldom asked for again; and it is looked at once more before it is handed out. Two runs at
 * once do no harm: the store's cache answers the second, and of two verdicts their versions say which one counts.
 */
import PQueue from 'p-queue';
import { grade, type GradeDeps } from './grade.js';
import type { Graded } from './model/graded.js';
import type { Interaction } from './model/interaction.js';
import { sameScores, unansweredIn, UNANSWERED, type Verdict } from './model/score.js';
import type { ScoringPolicy } from './score/policy.js';
import { policyHash } from './score/policy.js';
import type { Store } from './store/clickhouse.js';
import { interactionFromRow, verdictFromRow } from './store/rows.js';

export interface RescoreRange {
  /** Start of the interactions, milliseconds since the Unix epoch: from the first (inclusive) to the second. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** null: all. */
  readonly assistantId: string | null;
  /** null: all; only beside an assistant. */
  readonly agentVersion: string | null;
  /** Also those that have a verdict under the policy, or only one under another. */
  readonly everything: boolean;
}

export interface Rescored {
  /** As the store has it; null: none. */
  readonly before: Verdict | null;
  readonly graded: Graded;
  /**
   * - `changed`: to be stored.
   * - `same`: nothing new, or less than the store has.
   * - `healed`: somebody else has stored a better one meanwhile.
   * - `budget`: it would be left out now (the day's tokens, or sampling), and was not; it stays as it was.
   * - `faulted`: a fault of ours; what the store has stays, so that it is graded again once that is mended.
   */
  readonly outcome: 'changed' | 'same' | 'healed' | 'budget' | 'faulted';
}

export interface RescoreDeps extends GradeDeps {
  readonly store: Pick<Store, 'rows'>;
  /** So many interactions are with the judge at a time: the deadline of those that wait for a place runs meanwhile. */
  readonly atOnce: number;
}

const PAGE = 200;

/** How many interactions a run would look at. */
export async function countRescored(
  range: RescoreRange,
  policy: ScoringPolicy,
  store: Pick<Store, 'rows'>,
): Promise<number> {
  const [row] = await store.rows(
    `SELECT count() AS n FROM {db}.${sourceOf(range)} WHERE ${whereOf(range)}`,
    paramsOf(range, policy),
  );
  return Number(row?.['n'] ?? 0);
}

/** Grades again, a page at a time; stores nothing. */
export async function* rescore(
  range: RescoreRange,
  policy: ScoringPolicy,
  deps: RescoreDeps,
): AsyncGenerator<readonly Rescored[]> {
  let after: Cursor = { startedMs: range.sinceMs, interactionId: '' };
  for (;;) {
    const page = await pageAfter(after, range, policy, deps);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last;
    const known = await interactionsOf(page, deps);
    const before = await knownVerdicts(page, deps);
    const queue = new PQueue({ concurrency: deps.atOnce });
    const faulted = new Set<string>();
    const gradeAgain = (each: Interaction) => grade(each, undefined, policy, noting(each, faulted, deps));
    const judged = await queue.addAll(known.map((each) => async () => await gradeAgain(each).judged));
    // What rules settle is graded once more, now that it is known whether the judge answers.
    const graded = await Promise.all(
      known.map(async (each, i) => {
        if (judged[i]) return judged[i];
        const again = gradeAgain(each);
        return (await again.judged) ?? again.graded;
      }),
    );
    const now = await knownVerdicts(page, deps);
    const spent = deps.judging?.judge.budgetSpent ?? false;
    yield graded.map((each): Rescored => {
      const id = each.interaction.interactionId;
      const was = before.get(id)?.verdict ?? null;
      const outcome =
        faulted.has(id) && was !== null
          ? 'faulted'
          : outcomeOf(each, before.get(id), now.get(id), range.everything, spent);
      return { before: was, graded: each, outcome };
    });
  }
}

/** Notes a fault while this interaction is graded. */
function noting({ interactionId }: Interaction, faulted: Set<string>, deps: GradeDeps): GradeDeps {
  const { events } = deps;
  return {
    ...deps,
    events: {
      ...events,
      gradingFailed(fault) {
        faulted.add(interactionId);
        events.gradingFailed(fault);
      },
    },
  };
}

interface Cursor {
  readonly startedMs: number;
  readonly interactionId: string;
}

interface KnownVerdict {
  readonly verdict: Verdict;
  readonly version: number;
}

function outcomeOf(
  { verdict }: Graded,
  before: KnownVerdict | undefined,
  now: KnownVerdict | undefined,
  everything: boolean,
  budgetSpent: boolean,
): Rescored['outcome'] {
  const same = before !== undefined && before.verdict.policy === verdict.policy;
  if (now !== undefined && same && now.version > before.version) return 'healed';
  // A conversation that is judged already is not left out of the count again, under the same policy or for want of tokens.
  if (verdict.leftOut && before?.verdict.leftOut === false && (same || budgetSpent)) return 'budget';
  if (same && !everything) return unansweredIn(verdict) < unansweredIn(before.verdict) ? 'changed' : 'same';
  if (same && unansweredIn(verdict) > unansweredIn(before.verdict)) return 'same';
  return same && sameScores(before.verdict, verdict) && before.verdict.label === verdict.label ? 'same' : 'changed';
}

function sourceOf({ everything }: RescoreRange): string {
  return everything ? 'interactions_current' : 'verdicts_current';
}

function whereOf({ everything, assistantId, agentVersion }: RescoreRange): string {
  return [
    "started_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')",
    "started_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')",
    ...(assistantId === null ? [] : ['assistant_id = {assistant:String}']),
    ...(agentVersion === null ? [] : ['agent_version = {version:String}']),
    ...(everything ? [] : ['policy = {policy:String}', `hasAny(scores.abstained, [${UNANSWERED_LIST}])`]),
  ].join(' AND ');
}

const UNANSWERED_LIST = UNANSWERED.map((reason) => `'${reason}'`).join(', ');

function paramsOf(range: RescoreRange, policy: ScoringPolicy) {
  return {
    since: range.sinceMs,
    until: range.untilMs,
    policy: policyHash(policy),
    ...(range.assistantId === null ? {} : { assistant: range.assistantId }),
    ...(range.agentVersion === null ? {} : { version: range.agentVersion }),
  };
}

async function pageAfter(after: Cursor, range: RescoreRange, policy: ScoringPolicy, { store }: RescoreDeps) {
  const rows = await store.rows(
    `SELECT interaction_id, toUnixTimestamp64Milli(started_at) AS started_ms FROM {db}.${sourceOf(range)}
     WHERE ${whereOf(range)} AND (toUnixTimestamp64Milli(started_at), interaction_id) > ({since:Int64}, {afterId:String})
     ORDER BY started_at, interaction_id LIMIT ${PAGE}`,
    { ...paramsOf({ ...range, sinceMs: after.startedMs }, policy), afterId: after.interactionId },
  );
  return rows.map((row): Cursor => ({
    startedMs: Number(row['started_ms']),
    interactionId: String(row['interaction_id']),
  }));
}

async function interactionsOf(page: readonly Cursor[], { store }: RescoreDeps): Promise<readonly Interaction[]> {
  const rows = await store.rows(
    `SELECT * FROM {db}.interactions_current WHERE ${OF_PAGE} ORDER BY started_at, interaction_id`,
    paramsOfPage(page),
  );
  return rows.map(interactionFromRow);
}

async function knownVerdicts(
  page: readonly Cursor[],
  { store }: RescoreDeps,
): Promise<ReadonlyMap<string, KnownVerdict>> {
  const rows = await store.rows(`SELECT * FROM {db}.verdicts_current WHERE ${OF_PAGE}`, paramsOfPage(page));
  return new Map(
    rows.map((row) => [
      String(row['interaction_id']),
      { verdict: verdictFromRow(row), version: Number(row['version']) },
    ]),
  );
}

const OF_PAGE = `interaction_id IN {ids:Array(String)}
  AND started_at >= fromUnixTimestamp64Milli({first:Int64}, 'UTC')
  AND started_at <= fromUnixTimestamp64Milli({last:Int64}, 'UTC')`;

function paramsOfPage(page: readonly Cursor[]) {
  const ids = page.map(({ interactionId }) => interactionId);
  return { ids, first: page[0]?.startedMs ?? 0, last: page.at(-1)?.startedMs ?? 0 };
}
