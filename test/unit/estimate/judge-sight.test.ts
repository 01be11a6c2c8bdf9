import { expect, test } from 'vitest';
import { FULL_JUDGE_SIGHT, watchJudge, type MinuteOfJudging } from '../../../src/estimate/judge-sight.js';

const KINDS = {
  a: { asks: true, answers: true, refuses: false },
  r: { asks: true, answers: false, refuses: true },
  // One worker has answers, another one none.
  b: { asks: true, answers: true, refuses: true },
  // Started, and not asked yet.
  s: { asks: true, answers: false, refuses: false },
  n: { asks: false, answers: false, refuses: false },
} as const;

/** One letter a minute of ten, in which beats came at 1 and 9; `.`: none came. */
function minutesOf(kinds: string, from = 0): MinuteOfJudging[] {
  return [...kinds].flatMap((kind, at) => {
    const startMs = (from + at) * 10;
    return kind === '.' ? [] : [{ firstMs: startMs + 1, lastMs: startMs + 9, ...KINDS[kind as keyof typeof KINDS] }];
  });
}

const RULES = { judgeMs: 25 };
const transitions = (kinds: string) =>
  watchJudge(FULL_JUDGE_SIGHT, minutesOf(kinds), RULES).transitions.map(({ kind, atMs, sinceMs }) => [
    kind,
    atMs,
    sinceMs,
  ]);

test('is blind once the judge has answered nobody for long enough, and sees when it answers', () => {
  // Refused from 11 on; 39 is the first that is 25 later.
  expect(transitions('arrrrra')).toEqual([
    ['opened', 39, 11],
    ['closed', 69, 11],
  ]);
  expect(transitions('arrarrar')).toEqual([]);
  expect(transitions('bbbbbb')).toEqual([]);
});

test('neither a start nor silence is an answer, and neither is a refusal', () => {
  expect(transitions('arrrs.ssa')).toEqual([
    ['opened', 39, 11],
    ['closed', 89, 11],
  ]);
  expect(transitions('ssssss')).toEqual([]);
  expect(transitions('as.....s')).toEqual([]);
});

test('ends when no worker has a judge any more', () => {
  expect(transitions('rrrrn')).toEqual([
    ['opened', 29, 1],
    ['closed', 49, 1],
  ]);
});

test('gives the same in whatever lots minutes are taken, and when some are taken twice', () => {
  const kinds = 'arrrrraarrsrrrra';
  const whole = watchJudge(FULL_JUDGE_SIGHT, minutesOf(kinds), RULES);
  let state = FULL_JUDGE_SIGHT;
  const found = [...kinds].flatMap((_, at) => {
    const step = watchJudge(state, minutesOf(kinds).slice(Math.max(0, at - 2), at + 1), RULES);
    ({ state } = step);
    return step.transitions;
  });

  expect(found).toEqual(whole.transitions);
  expect(found).toHaveLength(4);
  expect(state).toEqual(whole.state);
});
