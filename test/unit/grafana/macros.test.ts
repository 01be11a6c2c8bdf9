import { expect, test } from 'vitest';

import { expandMacros, expandVariables } from '../../support/grafana-macros.js';

// 2026-11-30 09:00:00 and 10:00:00.250 UTC.
const context = { fromMs: 1_796_029_200_000, toMs: 1_796_032_800_250, intervalMs: 0 };

// Left as the plugin's documentation shows them, with the range above.
test.each([
  ['$__timeFilter(at)', 'at >= toDateTime(1796029200) AND at <= toDateTime(1796032800)'],
  [
    '$__timeFilter_ms(at)',
    'at >= fromUnixTimestamp64Milli(1796029200000) AND at <= fromUnixTimestamp64Milli(1796032800250)',
  ],
  ['$__dateFilter(day)', "day >= toDate('2026-11-30') AND day <= toDate('2026-11-30')"],
  [
    '$__dt(day, at)',
    "(day >= toDate('2026-11-30') AND day <= toDate('2026-11-30')) AND (at >= toDateTime(1796029200) AND at <= toDateTime(1796032800))",
  ],
  ['$__fromTime, $__toTime', 'toDateTime(1796029200), toDateTime(1796032800)'],
  ['$__toTime_ms - 1', 'fromUnixTimestamp64Milli(1796032800250) - 1'],
  ['$__timeInterval(at)', 'toStartOfInterval(toDateTime(at), INTERVAL 1 second)'],
  ['$__interval_s', '1'],
  [
    '$__timeFilter(greatest(a, b))',
    'greatest(a, b) >= toDateTime(1796029200) AND greatest(a, b) <= toDateTime(1796032800)',
  ],
])('%s expands as the plugin does', (sql, expanded) => {
  expect(expandMacros(`SELECT ${sql}`, context)).toBe(`SELECT ${expanded}`);
});

test('a macro that is not known, or that only a browser expands, stays', () => {
  const sql = 'SELECT $__from, $__conditionalAll(a = 1, $b), $__timeFilterNot(at)';

  expect(expandMacros(sql, context)).toBe(sql);
});

test('a wrong number of arguments is an error', () => {
  for (const sql of ['$__timeFilter()', '$__timeFilter', '$__timeFilter(a, b)', '$__dateTimeFilter(day)']) {
    expect(() => expandMacros(sql, context), sql).toThrow(RangeError);
  }
});

test('macros in comments go with them, and text in quotes is no comment', () => {
  const sql = 'SELECT \'--\', "/*" -- $__timeFilter()\n/* $__dt */, 1';

  expect(expandMacros(sql, context)).toBe('SELECT \'--\', "/*" \n, 1');
});

test('variables are written as Grafana writes them, and a misspelt one is an error', () => {
  const chosen = { agent: ["it's", 'b'], k: '3', none: [] };

  expect(expandVariables('${agent:singlequote}|${k:csv}|${agent:csv}|${none:csv}|$__toTime', chosen)).toBe(
    "'it\\'s','b'|3|it's,b||$__toTime",
  );
  for (const sql of ['${agnet:csv}', '${agent}', '$agent', '${agent:sql}']) {
    expect(() => expandVariables(sql, chosen), sql).toThrow(RangeError);
  }
});
