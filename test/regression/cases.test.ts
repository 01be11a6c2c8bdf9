import { existsSync, readdirSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import type { Graded } from '../../src/model/graded.js';
import type { Score } from '../../src/model/score.js';
import { createPipeline } from '../../src/pipeline.js';
import { buildExpectationIndex } from '../../src/score/expectations.js';
import { resolvePolicy } from '../../src/score/policy.js';
import type { Expected } from '../support/expectations.js';
import { compareConversations } from '../support/expectations.js';
import { readFixture } from '../support/fixture.js';
import { startServer } from '../support/otlp-http.js';

/**
 * Faults that people met in the field, each a small input with the right outcome. Its requests go to the real server
 * over loopback; `at_ms` turns the clock of the pipeline behind it.
 */
const CASES = new URL('../fixtures/cases/', import.meta.url);

/** Cases of dialects that are not read yet. */
const LATER_DIALECTS = new Set([
  '33-only-first-of-parallel-calls-recorded',
  '57-middle-of-the-tree-not-exported',
  '69-agent-and-task-spans-that-look-like-models',
]);

const folders = readdirSync(CASES).filter((name) => /^\d/.test(name) && !LATER_DIALECTS.has(name));

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at_ms?: number;
}

interface HttpExpectation {
  readonly status?: number;
  readonly status_one_of?: readonly number[];
  readonly content_type?: string;
  readonly body?: unknown;
}

interface ExpectedScores {
  readonly interactions?: readonly unknown[];
  readonly conversation_id?: string | null;
  readonly scores?: Readonly<Record<string, number | null | Readonly<Record<string, number>>>>;
}

interface Case extends Expected, Pick<ExpectedScores, 'scores'> {
  readonly http?: HttpExpectation | readonly HttpExpectation[];
  readonly if_200?: Case;
  readonly rejected_spans?: number;
  readonly revisions?: number | readonly unknown[];
}

interface Outcome {
  readonly answers: readonly { status: number; contentType: string; body: string }[];
  readonly rejectedSpans: number;
  /** Every decision, in order. */
  readonly decisions: readonly Graded[];
  readonly spans: { arrived: number; assembled: number; dropped: number; open: number };
}

async function run(requests: readonly Request[], folder: string): Promise<Outcome> {
  const decisions: Graded[] = [];
  const spans = { arrived: 0, assembled: 0, dropped: 0, open: 0 };
  let nowMs = 0;
  const pipeline = createPipeline(
    { assemble: DEFAULT_ASSEMBLE_RULES, policy: resolvePolicy({}) },
    {
      expectations: buildExpectationIndex([]),
      judging: null,
      events: {
        spansCounted({ arrived, assembled, ...dropped }, open) {
          spans.arrived += arrived;
          spans.assembled += assembled;
          spans.dropped += Object.values(dropped).reduce((sum, count) => sum + count, 0);
          spans.open = open;
        },
        interactionGraded: () => {},
        gradingFailed: () => {},
        expectationUnreadable: () => {},
        expectationAmbiguous: () => {},
      },
      store(graded) {
        decisions.push(graded);
        return Promise.resolve({ status: 'ok' });
      },
      release: () => {},
    },
  );
  const running = await startServer(
    {},
    {
      append(entry) {
        pipeline.receive({ offset: null, receivedAtMs: nowMs, spans: entry.batch.spans }, nowMs);
        return Promise.resolve({ status: 'ok' });
      },
    },
  );
  onTestFinished(() => running.server.close(1000));
  const answers: Outcome['answers'][number][] = [];
  for (const request of requests) {
    nowMs = request.at_ms ?? 0;
    pipeline.pass(nowMs);
    const response = await fetch(`${running.url}${request.path}`, {
      method: request.method,
      headers: request.headers,
      // A view without a type of its own, or fetch would state one.
      body: new Uint8Array(readFixture(`cases/${folder}/${request.body}`)),
    });
    const body = await response.text();
    answers.push({ status: response.status, contentType: response.headers.get('content-type') ?? '', body });
  }
  pipeline.pass(nowMs + 2 * DEFAULT_ASSEMBLE_RULES.maxTurnMs);
  const rejectedSpans = running.events.reduce(
    (sum, [name, detail]) => sum + (name === 'spanRejected' ? (detail.spans ?? 0) : 0),
    0,
  );
  return { answers, rejectedSpans, decisions, spans };
}

function requestsOf(folder: string): readonly Request[] {
  if (!existsSync(new URL(`${folder}/request.json`, CASES))) {
    const headers = { 'content-type': 'application/json' };
    return [{ method: 'POST', path: '/v1/traces', headers, body: 'input.otlp.json' }];
  }
  return (JSON.parse(readFixture(`cases/${folder}/request.json`).toString('utf8')) as { requests: Request[] }).requests;
}

test.each(folders)('%s', async (folder) => {
  const expected = JSON.parse(readFixture(`cases/${folder}/expect.json`).toString('utf8')) as Case;

  const outcome = await run(requestsOf(folder), folder);

  expect(httpDifferences(outcome, expected)).toEqual([]);
  const content = expected.if_200 ?? expected;
  const last = [...new Map(outcome.decisions.map((graded) => [graded.interaction.interactionId, graded])).values()];
  expect(
    compareConversations(
      last.map(({ interaction }) => interaction),
      content,
    ),
  ).toEqual([]);
  expect(scoreDifferences(last, content)).toEqual([]);
  if (typeof expected.revisions === 'number') expect(outcome.decisions).toHaveLength(last.length * expected.revisions);
  expect(outcome.rejectedSpans).toBe(expected.rejected_spans ?? 0);
  const { arrived, assembled, dropped, open } = outcome.spans;
  expect(arrived).toBe(assembled + dropped + open);
  expect(open).toBe(0);
});

test('59 gives the same when the two copies of a span arrive in the other order', async () => {
  const folder = '59-spans-sent-at-start-and-without-end';
  const expected = JSON.parse(readFixture(`cases/${folder}/expect.json`).toString('utf8')) as Case;
  const [first, second] = requestsOf(folder) as [Request, Request];

  const outcome = await run(
    [
      { ...second, at_ms: 0 },
      { ...first, at_ms: 1000 },
    ],
    folder,
  );

  expect(
    compareConversations(
      outcome.decisions.map(({ interaction }) => interaction),
      expected,
    ),
  ).toEqual([]);
});

function httpDifferences(outcome: Outcome, expected: Case): string[] {
  const wanted = expected.http === undefined ? [] : [expected.http].flat();
  return wanted.flatMap((http, i) => {
    const answer = outcome.answers[i];
    if (answer === undefined) return [`answer ${i}: none`];
    const differences: string[] = [];
    const statuses = http.status_one_of ?? (http.status === undefined ? [answer.status] : [http.status]);
    if (!statuses.includes(answer.status))
      differences.push(`answer ${i}: ${statuses.join(' or ')} expected, got ${answer.status}`);
    if (http.content_type !== undefined && answer.contentType !== http.content_type) {
      differences.push(`answer ${i}: ${http.content_type} expected, got ${answer.contentType}`);
    }
    // Bodies in protobuf are compared in the tests of the server.
    if (
      http.body !== undefined &&
      answer.contentType === 'application/json' &&
      !matches(JSON.parse(answer.body), http.body)
    ) {
      differences.push(`answer ${i}: body ${JSON.stringify(http.body)} expected, got ${answer.body}`);
    }
    return differences;
  });
}

function matches(actual: unknown, wanted: unknown): boolean {
  if (wanted === '<any text>') return typeof actual === 'string';
  if (wanted === '<non-empty>') return typeof actual === 'string' && actual !== '';
  if (typeof wanted !== 'object' || wanted === null) return actual === wanted;
  if (typeof actual !== 'object' || actual === null) return false;
  const keys = Object.keys(wanted);
  return (
    keys.length === Object.keys(actual).length &&
    keys.every((key) => matches((actual as Record<string, unknown>)[key], (wanted as Record<string, unknown>)[key]))
  );
}

/** A number is the criterion's value, null an abstention, an object parts of its details. */
function scoreDifferences(graded: readonly Graded[], expected: Case): string[] {
  const conversations: readonly ExpectedScores[] = (expected.conversations as
    readonly ExpectedScores[] | undefined) ?? [expected];
  return conversations.flatMap(({ conversation_id: id, scores = {} }) => {
    const verdicts = graded
      .filter(({ interaction }) => interaction.conversationId === id)
      .map(({ verdict }) => verdict);
    return Object.entries(scores).flatMap(([criterion, wanted]) =>
      verdicts.flatMap(({ scores: all }) => {
        const score = all.find((each) => each.criterion === criterion) as Score;
        if (wanted === null)
          return score.kind === 'abstained' ? [] : [`${id} ${criterion}: abstains, got ${score.value}`];
        if (score.kind === 'abstained') return [`${id} ${criterion}: a value expected, got ${score.abstained}`];
        if (typeof wanted === 'number')
          return score.value === wanted ? [] : [`${id} ${criterion}: ${wanted}, got ${score.value}`];
        return Object.entries(wanted).flatMap(([key, value]) =>
          score.details[key] === value
            ? []
            : [`${id} ${criterion}.${key}: ${value} expected, got ${JSON.stringify(score.details[key])}`],
        );
      }),
    );
  });
}
