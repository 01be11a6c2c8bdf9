import { expect, test } from 'vitest';
import { interactionFromRow } from '../../../src/store/rows.js';
import { freshStore, graded, turn, WRITER_DEPS, writeInTurn } from '../../support/store.js';

const lost = (error: unknown) => expect.fail(String(error));

test('answers are found again, by the same process and by another, and others are not', async () => {
  const store = await freshStore();
  const answers = store.judgeAnswers('policy-1', { answersLost: lost });

  await answers.set('a', '{"answer":{"value":1,"reason":"ü \\"quoted\\""}}');
  expect(await answers.get('a')).toContain('quoted');
  await answers.close();

  const others = store.judgeAnswers('policy-1', { answersLost: lost });
  const found = await Promise.all(['a', 'b', 'a'].map((key) => others.get(key)));
  expect(found[0]).toBe('{"answer":{"value":1,"reason":"ü \\"quoted\\""}}');
  expect(found).toEqual([found[0], null, found[0]]);
});

test('the later of two answers counts', async () => {
  const store = await freshStore();
  for (const answer of ['1', '2']) {
    const answers = store.judgeAnswers('policy-1', { answersLost: lost });
    await answers.set('a', answer);
    await answers.close();
  }

  expect(await store.judgeAnswers('policy-1', { answersLost: lost }).get('a')).toBe('2');
});

test('many are looked up at once', async () => {
  const store = await freshStore();
  const answers = store.judgeAnswers('policy-1', { answersLost: lost });
  for (let i = 0; i < 1_500; i += 1) await answers.set(`k${i}`, String(i));
  await answers.close();

  const keys = Array.from({ length: 1_500 }, (_, i) => `k${i}`);
  const others = store.judgeAnswers('policy-1', { answersLost: lost });
  const found = await Promise.all(keys.map((key) => others.get(key)));
  expect(found).toEqual(keys.map((_, i) => String(i)));
});

test('earlier turns come back as they were written', async () => {
  const store = await freshStore();
  const writer = store.writer(WRITER_DEPS);
  const earlierTurns = [
    { query: 'Hi', answer: null },
    { query: null, answer: 'Hello' },
  ];

  await writeInTurn(writer, [graded(turn({ trace: 1, earlierTurns })), graded(turn({ trace: 2 }))]);

  const rows = await store.rows('SELECT * FROM {db}.interactions_current ORDER BY interaction_id');
  expect(rows.map((row) => interactionFromRow(row).earlierTurns)).toEqual([earlierTurns, []]);
  await writer.close({ drainMs: 1_000 });
});

test('a verdict alone is stored behind its interaction, and the one with fewer open questions counts', async () => {
  const store = await freshStore();
  const writer = store.writer(WRITER_DEPS);
  const of = turn({ trace: 1 });
  const pending = graded(of, { label: 'unscored', outstanding: 1 });

  const writes = [writer.write(pending), writer.writeVerdict(graded(of)), writer.writeVerdict(pending)];
  writer.flush();
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);

  const [verdict] = await store.rows('SELECT verdict, outstanding FROM {db}.verdicts_current');
  expect(verdict).toEqual({ verdict: 'correct', outstanding: 0 });
  const [count] = await store.rows('SELECT count() AS n FROM {db}.interactions');
  expect(Number(count?.['n'])).toBe(1);
  await writer.close({ drainMs: 1_000 });
});
