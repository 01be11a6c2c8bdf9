import { expect, test } from 'vitest';
import type { Series } from '../../../src/model/estimate.js';
import { windowNamed } from '../../../src/estimate/windows.js';
import { newestPairs, newestVersions, withTwice } from '../../../src/rollup/comparisons.js';

const series = (agentVersion: string, changes: Partial<Series> = {}): Series => ({
  assistantId: 'bot',
  agentVersion,
  environment: 'prod',
  task: null,
  policy: 'p',
  ...changes,
});
const start = (seriesId: string, firstClosedAtMs: number, of: Series) => ({ seriesId, series: of, firstClosedAtMs });
const STARTS = [
  start('10', 300, series('3')),
  start('11', 100, series('1')),
  start('12', 200, series('2')),
  start('13', 250, series('2', { environment: 'staging' })),
  start('14', 260, series('9', { policy: 'q' })),
];
const change = (of: Series) => ({ atMs: 400, seriesId: '10', series: of, windows: [0], perTask: [] });
const idsOf = (pairs: ReturnType<typeof newestPairs>) =>
  pairs.map(({ before, now }) => [before.seriesId, now.seriesId]);

test('pairs the version that began last with the one before it, within environment and policy', () => {
  expect(idsOf(newestPairs(newestVersions([change(series('1'))], STARTS, 400)))).toEqual([['12', '10']]);
});

test('leaves out what began later, what has one version, and what did not change', () => {
  expect(idsOf(newestPairs(newestVersions([change(series('1'))], STARTS, 299)))).toEqual([['11', '12']]);
  expect(newestPairs(newestVersions([change(series('2', { environment: 'staging' }))], STARTS, 400))).toEqual([]);
  expect(newestPairs(newestVersions([], STARTS, 400))).toEqual([]);
});

test('counts a window twice as long where a longer one of its kind is counted anyway, and no longer one', () => {
  const { all, twiceAt } = withTwice(['1h', '24h', '2d', 'last_50', 'last_99'].map(windowNamed));

  expect(twiceAt).toEqual([5, 6, null, null, null]);
  expect(all.slice(5)).toMatchObject([{ spanMs: 2 * 3_600_000 }, { spanMs: 48 * 3_600_000 }]);
});
