import { expect, test } from 'vitest';
import { estimate } from '../../../src/estimate/pass.js';
import { windowNamed } from '../../../src/estimate/windows.js';
import { countWindows, type Countable } from '../../support/count-windows.js';

type Kind = 'right' | 'wrong' | 'outstanding' | 'wrongAndOutstanding' | 'nothing' | 'leftOut';

const VERDICTS: Record<Kind, Countable['verdict']> = {
  right: { label: 'correct', counts: true, leftOut: false, outstanding: 0, incorrectWhateverComes: false },
  wrong: { label: 'incorrect', counts: true, leftOut: false, outstanding: 0, incorrectWhateverComes: false },
  outstanding: { label: 'unscored', counts: false, leftOut: false, outstanding: 1, incorrectWhateverComes: false },
  wrongAndOutstanding: {
    label: 'incorrect',
    counts: false,
    leftOut: false,
    outstanding: 1,
    incorrectWhateverComes: true,
  },
  nothing: { label: 'unscored', counts: false, leftOut: false, outstanding: 0, incorrectWhateverComes: false },
  leftOut: { label: 'incorrect', counts: false, leftOut: true, outstanding: 0, incorrectWhateverComes: false },
};

function closed(kind: Kind, firstClosedAtMs: number, task: string | null = null, judged = true): Countable {
  return {
    conversationId: `${kind}-${firstClosedAtMs}`,
    series: { assistantId: 'agent', agentVersion: null, environment: null, task, policy: 'p' },
    firstClosedAtMs,
    verdict: VERDICTS[kind],
    judged,
  };
}

test('counts what closed within a time, its start left out and its end included', () => {
  const conversations = [closed('right', 100), closed('wrong', 101), closed('right', 200), closed('right', 201)];

  const [counts] = countWindows(conversations, [{ name: 'w', kind: 'time', spanMs: 100 }], 200);

  expect(counts).toMatchObject({ trials: 2, correct: 1 });
});

test('keeps apart what counts, what is outstanding, what nothing judged and what was left out', () => {
  const kinds: Kind[] = ['right', 'wrong', 'outstanding', 'wrongAndOutstanding', 'nothing', 'leftOut', 'leftOut'];

  const [counts] = countWindows(
    kinds.map((kind, at) => closed(kind, at)),
    [{ name: 'w', kind: 'count', trials: 50 }],
    100,
  );

  expect(counts).toMatchObject({
    trials: 2,
    correct: 1,
    outstanding: 2,
    outstandingIncorrect: 1,
    unscored: 3,
    leftOut: 2,
  });
});

test('counts back to the last so many trials, with what else closed since', () => {
  const conversations = [
    closed('wrong', 1),
    closed('outstanding', 2),
    closed('right', 3),
    closed('outstanding', 4),
    closed('right', 5),
    closed('leftOut', 6),
  ];

  const [two, three] = countWindows(
    conversations,
    [
      { name: 'last_2', kind: 'count', trials: 2 },
      { name: 'last_3', kind: 'count', trials: 3 },
    ],
    10,
  );

  expect(two).toMatchObject({ trials: 2, correct: 2, outstanding: 1, leftOut: 1 });
  expect(three).toMatchObject({ trials: 3, correct: 2, outstanding: 2, leftOut: 1 });
});

test('counts each task of its own, and conversations without a label in none', () => {
  const conversations = [
    closed('right', 1, 'a'),
    closed('wrong', 2, 'b'),
    closed('outstanding', 3, 'b'),
    closed('right', 4),
  ];

  const [counts] = countWindows(conversations, [{ name: 'w', kind: 'time', spanMs: 100 }], 10);

  expect(Object.fromEntries(counts?.tasks ?? [])).toEqual({
    a: { trials: 1, correct: 1, outstanding: 0, outstandingIncorrect: 0 },
    b: { trials: 1, correct: 0, outstanding: 1, outstandingIncorrect: 0 },
  });
  expect(counts?.trials).toBe(3);
});

test('moves nothing but the bounds while the judge is away and only rule failures are known', () => {
  const healthy = Array.from({ length: 1_000 }, (_, at) => closed(at % 20 === 0 ? 'wrong' : 'right', at));
  // 500, of which 3 % fail by rules and wait for the judge all the same.
  const outage = Array.from({ length: 500 }, (_, at) =>
    closed(at % 100 < 3 ? 'wrongAndOutstanding' : 'outstanding', 1_000 + at),
  );
  const rules = { ks: [3], prior: { a: 1, b: 1 }, level: 0.95, mode: 'bayesian' } as const;
  const windows = [{ name: 'last_1000', kind: 'count', trials: 1_000 }] as const;
  const passPow3 = (conversations: readonly Countable[]) => {
    const [counts] = countWindows(conversations, windows, 2_000);
    return counts && estimate(counts, rules)[1];
  };

  const before = passPow3(healthy);
  const during = passPow3([...healthy, ...outage]);

  expect(during).toMatchObject({ mean: before?.mean, lower: before?.lower, upper: before?.upper });
  // n = 1000, c = 950, u = 500, w = 15.
  expect(during?.boundLower).toBeCloseTo((950 / 1_500) ** 3, 12);
  expect(during?.boundUpper).toBeCloseTo((1_435 / 1_500) ** 3, 12);
});

test('says whether more than rules decided one of them', () => {
  const windows = [{ name: 'w', kind: 'count', trials: 5 }] as const;

  expect(countWindows([closed('right', 1, null, false)], windows, 10)[0]?.judged).toBe(false);
  expect(countWindows([closed('right', 1, null, false), closed('right', 2)], windows, 10)[0]?.judged).toBe(true);
});

test('reads a window from its name, and refuses a name that is none', () => {
  expect(windowNamed('30m')).toEqual({ name: '30m', kind: 'time', spanMs: 1_800_000 });
  expect(windowNamed('24h')).toEqual({ name: '24h', kind: 'time', spanMs: 86_400_000 });
  expect(windowNamed('7d')).toEqual({ name: '7d', kind: 'time', spanMs: 604_800_000 });
  expect(windowNamed('last_200')).toEqual({ name: 'last_200', kind: 'count', trials: 200 });
  for (const name of ['0h', '1w', 'last_0', 'last_', '-1h', '1.5h', '']) {
    expect(() => windowNamed(name)).toThrow(`expected, got "${name}"`);
  }
});
