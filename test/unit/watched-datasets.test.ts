import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import type { Graded } from '../../src/model/graded.js';
import type { Rejection } from '../../src/model/rejection.js';
import { createPipeline, type PipelineEvents } from '../../src/pipeline.js';
import { policyHash, resolvePolicy } from '../../src/score/policy.js';
import { openDatasets, type WatchedDatasets } from '../../src/watched-datasets.js';
import { otlpSpan } from '../support/otlp-json.js';
import { interaction } from '../support/score-builders.js';
import { telemetryProbe } from '../support/telemetry.js';

let folder: string;
const stops: (() => void)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tracegrade-watched-'));
});

afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await rm(folder, { recursive: true });
});

const at = (name: string) => join(folder, name);

/** Datasets of one turn each: the answer to `query`. */
const truth = (query: string, answer: string) =>
  JSON.stringify({ session_id: query, conversation: [{ qa_id: query, query, ground_truth_assistant: answer }] });

/** What is in use: the expected answer to each query that has one. */
const answers = (datasets: WatchedDatasets, ...queries: readonly string[]) =>
  queries.map((query) => {
    const match = datasets.match(interaction([], { query }));
    return match.kind === 'matched' ? match.expectation.answer : match.kind;
  });

async function open(...paths: readonly string[]) {
  const telemetry = telemetryProbe();
  const opened = await openDatasets(paths, telemetry.events);
  if (opened.status !== 'opened') throw new Error(JSON.stringify(opened.faults));
  const rejections: Rejection[] = [];
  const { datasets } = opened;
  // The timer never fires: the tests poll themselves.
  stops.push(datasets.watch(2 ** 30, (rejection) => rejections.push(rejection)));
  /** Sees what changed, and finds it as it was. */
  const settle = async () => {
    await datasets.poll();
    await datasets.poll();
  };
  const events = () => telemetry.records().map(({ event }) => event);
  return { datasets, rejections, telemetry, settle, events };
}

describe('files that change', () => {
  test('an edited file is in use once it has been still for one poll, and others stay', async () => {
    await writeFile(at('a.json'), truth('One?', '1'));
    await writeFile(at('b.json'), truth('Two?', '2'));
    const { datasets, telemetry } = await open(at('a.json'), at('b.json'));
    expect(answers(datasets, 'One?', 'Two?', 'Three?')).toEqual(['1', '2', 'none']);

    await writeFile(at('a.json'), `[${truth('One?', '100')}, ${truth('Three?', '3')}]`);
    await datasets.poll();
    expect(answers(datasets, 'One?', 'Two?', 'Three?')).toEqual(['1', '2', 'none']);
    await datasets.poll();
    expect(answers(datasets, 'One?', 'Two?', 'Three?')).toEqual(['100', '2', '3']);
    await datasets.poll();

    expect(telemetry.records()).toMatchObject([
      { event: 'datasetsLoaded', files: 2, turns: 2 },
      { event: 'datasetsLoaded', files: 2, turns: 3 },
    ]);
    expect(await telemetry.sample('tracegrade_dataset_loads_total')).toBe(2);
  });

  test('a file of equal size and time that takes the place of another is seen', async () => {
    const then = new Date('2026-01-01');
    for (const [name, answer] of [
      ['truth.json', '1'],
      ['next.json', '2'],
    ] as const) {
      await writeFile(at(name), truth('One?', answer));
      await utimes(at(name), then, then);
    }
    const { datasets, settle } = await open(at('truth.json'));

    await rename(at('next.json'), at('truth.json'));
    await settle();

    expect(answers(datasets, 'One?')).toEqual(['2']);
  });

  test('a link above the files that leads elsewhere is seen', async () => {
    for (const [name, answer] of [
      ['v1', '1'],
      ['v2', '2'],
    ] as const) {
      await mkdir(at(name));
      await writeFile(join(at(name), 'truth.json'), truth('One?', answer));
    }
    await symlink('v1', at('..data'));
    await symlink(join('..data', 'truth.json'), at('truth.json'));
    const { datasets, settle } = await open(folder);
    expect(answers(datasets, 'One?')).toEqual(['1']);

    await symlink('v2', at('..next'));
    await rename(at('..next'), at('..data'));
    await settle();

    expect(answers(datasets, 'One?')).toEqual(['2']);
  });

  test('a file that comes into a directory adds its turns, one that goes takes them along', async () => {
    await writeFile(at('a.json'), truth('One?', '1'));
    const { datasets, settle, rejections } = await open(folder);

    await writeFile(at('b.jsonl'), `${truth('Two?', '2')}\n`);
    await settle();
    expect(answers(datasets, 'One?', 'Two?')).toEqual(['1', '2']);

    await rm(at('a.json'));
    await settle();
    expect(answers(datasets, 'One?', 'Two?')).toEqual(['none', '2']);
    expect(rejections).toEqual([]);
  });

  test('an empty directory is no fault: files may come', async () => {
    const { datasets, settle } = await open(folder);

    await writeFile(at('a.json'), truth('One?', '1'));
    await settle();

    expect(answers(datasets, 'One?')).toEqual(['1']);
  });

  test('what was matched stays matched until its own file is edited', async () => {
    await writeFile(at('a.json'), truth('One?', '1'));
    await writeFile(at('b.json'), truth('Two?', '2'));
    const { datasets, settle } = await open(folder);
    answers(datasets, 'One?', 'Two?');
    expect([datasets.matched, datasets.turns.length]).toEqual([2, 2]);

    await writeFile(at('b.json'), truth('Two?', '200'));
    await settle();

    expect([datasets.matched, datasets.turns.length]).toEqual([1, 2]);
  });
});

describe('files that cannot be used', () => {
  test('at the start, every fault is given', async () => {
    await writeFile(at('a.json'), '[');

    expect(await openDatasets([at('a.json'), at('none.json')], telemetryProbe().events)).toEqual({
      status: 'faulty',
      faults: [
        { place: at('a.json'), problem: 'not JSON (cut off?)' },
        { place: at('none.json'), problem: 'cannot be read: ENOENT', code: 'ENOENT' },
      ],
    });
  });

  test('a half-written file keeps what it had, is told once, and is read when it is whole', async () => {
    await writeFile(at('truth.jsonl'), truth('One?', '1'));
    const { datasets, settle, rejections, telemetry, events } = await open(at('truth.jsonl'));
    const whole = `${truth('Two?', '2')}\n${truth('Three?', '3')}`;

    await writeFile(at('truth.jsonl'), whole.slice(0, -5));
    await settle();
    await settle();

    expect(answers(datasets, 'One?', 'Two?')).toEqual(['1', 'none']);
    expect(rejections).toMatchObject([{ reason: 'invalid_expectation', spans: 0 }]);
    expect(rejections[0]?.detail.startsWith(`${at('truth.jsonl')}:2: not JSON`)).toBe(true);
    expect(telemetry.records().at(-1)).toMatchObject({
      level: 'error',
      event: 'datasetRefused',
      path: at('truth.jsonl'),
      faults: 1,
    });
    expect(await telemetry.sample('tracegrade_dataset_refusals_total')).toBe(1);

    await writeFile(at('truth.jsonl'), whole);
    await settle();
    expect(answers(datasets, 'One?', 'Two?', 'Three?')).toEqual(['none', '2', '3']);
    expect(events()).toEqual(['datasetsLoaded', 'datasetRefused', 'datasetsLoaded']);
  });

  test('another change that cannot be used is told again, and each fault of it up to twenty', async () => {
    await writeFile(at('truth.jsonl'), truth('One?', '1'));
    const { settle, rejections, events } = await open(at('truth.jsonl'));

    await writeFile(at('truth.jsonl'), '{');
    await settle();
    await writeFile(at('truth.jsonl'), '{\n'.repeat(30));
    await settle();

    expect(events()).toEqual(['datasetsLoaded', 'datasetRefused', 'datasetRefused']);
    expect(rejections).toHaveLength(1 + 21);
    expect(rejections.at(-1)?.detail).toBe(`${at('truth.jsonl')}: and 10 more faults`);
  });

  test('a fault in one file does not hold up another', async () => {
    await writeFile(at('a.json'), truth('One?', '1'));
    await writeFile(at('b.json'), truth('Two?', '2'));
    const { datasets, settle } = await open(folder);

    await writeFile(at('a.json'), '{');
    await writeFile(at('b.json'), truth('Two?', '200'));
    await settle();

    expect(answers(datasets, 'One?', 'Two?')).toEqual(['1', '200']);
  });

  test('a named file that is removed, or a directory that cannot be listed, keeps its turns until it is back', async () => {
    await mkdir(at('truth'));
    await writeFile(join(at('truth'), 'a.json'), truth('One?', '1'));
    await writeFile(at('b.json'), truth('Two?', '2'));
    const { datasets, settle, rejections } = await open(at('truth'), at('b.json'));

    await rename(at('truth'), at('away'));
    await rename(at('b.json'), at('b.away'));
    await settle();
    await settle();
    expect(answers(datasets, 'One?', 'Two?')).toEqual(['1', '2']);
    expect(rejections.map(({ detail }) => detail)).toEqual([
      `${at('truth')}: cannot be read: ENOENT`,
      `${at('b.json')}: cannot be read: ENOENT`,
    ]);

    await writeFile(join(at('away'), 'a.json'), truth('One?', '100'));
    await rename(at('away'), at('truth'));
    await rename(at('b.away'), at('b.json'));
    await settle();
    expect(answers(datasets, 'One?', 'Two?')).toEqual(['100', '2']);
    expect(rejections).toHaveLength(2);
  });

  test('a file that comes back after its fault was told is told again when it goes again', async () => {
    await writeFile(at('a.json'), truth('One?', '1'));
    const { settle, events } = await open(at('a.json'));

    for (let i = 0; i < 2; i += 1) {
      await rename(at('a.json'), at('a.away'));
      await settle();
      await rename(at('a.away'), at('a.json'));
      await settle();
    }

    expect(events().filter((event) => event === 'datasetRefused')).toHaveLength(2);
  });
});

test('after the watch has ended nothing is put in use and nothing is told', async () => {
  await writeFile(at('a.json'), truth('One?', '1'));
  const { datasets, settle, rejections } = await open(at('a.json'));
  for (const stop of stops.splice(0)) stop();

  await writeFile(at('a.json'), truth('One?', '100'));
  await settle();
  await writeFile(at('a.json'), '{');
  await settle();

  expect(answers(datasets, 'One?')).toEqual(['1']);
  expect(rejections).toEqual([]);
});

test('edited ground truth decides the next interaction, under the same policy and in the same series', async () => {
  await writeFile(at('truth.json'), truth('How many?', '5'));
  const { datasets, settle } = await open(at('truth.json'));
  const stored: Graded[] = [];
  const events: PipelineEvents = {
    spansCounted: () => {},
    interactionGraded: () => {},
    gradingFailed: () => {},
    expectationUnreadable: () => {},
    expectationAmbiguous: () => {},
  };
  const policy = resolvePolicy({});
  const pipeline = createPipeline(
    { assemble: DEFAULT_ASSEMBLE_RULES, policy },
    {
      expectations: datasets,
      events,
      judging: null,
      store(graded) {
        stored.push(graded);
        return Promise.resolve({ status: 'ok' });
      },
      release: () => {},
    },
  );
  const turn = (trace: string) =>
    otlpSpan(
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'counter',
        'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"How many?"}]}]',
        'gen_ai.output.messages':
          '[{"role":"assistant","parts":[{"type":"text","content":"There are 6."}],"finish_reason":"stop"}]',
      },
      { trace },
    );
  const { quietMs } = DEFAULT_ASSEMBLE_RULES;

  pipeline.receive({ offset: 1, receivedAtMs: 0, spans: [turn('t1')] }, 0);
  pipeline.pass(quietMs);
  await writeFile(at('truth.json'), truth('How many?', '6.0'));
  await settle();
  pipeline.receive({ offset: 2, receivedAtMs: quietMs, spans: [turn('t2')] }, quietMs);
  pipeline.pass(2 * quietMs);

  expect(stored.map(({ verdict }) => verdict.label)).toEqual(['incorrect', 'correct']);
  expect(stored.map(({ verdict }) => verdict.policy)).toEqual([policyHash(policy), policyHash(policy)]);
  const series = stored.map(({ interaction: { assistantId, agentVersion, environment, task }, verdict }) =>
    JSON.stringify([assistantId, agentVersion, environment, task, verdict.policy]),
  );
  expect(new Set(series).size).toBe(1);
});
