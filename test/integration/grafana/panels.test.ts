import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { column, drawn, expectTimeSeries, openBoard, show as showIn, type Frame } from '../../support/grafana-board.js';
import type { Chosen, MacroContext } from '../../support/grafana-macros.js';
import { mergeAll, RANGE, storeForBoards, TURNS } from '../../support/grafana-rows.js';
import { queries, ruleGroups, type Target } from '../../support/grafana.js';
import { freshStore, type TestStore } from '../../support/store.js';

// Alert rules were met with an interval of 0, and variables with a range of nothing.
const CONTEXT: MacroContext = { ...RANGE, intervalMs: 1_000 };

const show = (store: TestStore, target: Target, chosen: Chosen, context = CONTEXT) =>
  showIn(store, target, chosen, context);

const panelQuery = (title: RegExp) => queries.find(({ kind, name }) => kind === 'panel' && title.test(name))!.target;

test('all queries give no rows and no error on a store where nothing has happened', async () => {
  const store = await freshStore();
  const chosen = await openBoard(store, CONTEXT);

  for (const { name, target } of queries) {
    const frame = await show(store, target, chosen);
    if (target.format === 0) expectTimeSeries(frame);
    // Blind it is: no worker, no rollup.
    if (name === 'rule tracegrade-blind') expect(column(frame, 'value')).toEqual([1, 1, 0]);
    else expect(frame.rows, name).toEqual([]);
  }
});

describe('on a store with revisions that are not merged', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let store: TestStore;
  /** With everything that there is, and with a trace that was clicked. */
  let chosen: Chosen;

  beforeAll(async () => {
    store = await storeForBoards((cleanUp) => cleanUps.unshift(cleanUp));
    chosen = { ...(await openBoard(store, CONTEXT)), trace: TURNS[1].traceId };
  });

  afterAll(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  });

  describe('the variables', () => {
    test('offer what was recorded, the absent included, and names that SQL could stumble over', () => {
      expect(chosen).toMatchObject({
        assistant: [String.raw`it's a \\ "name"`, 'order-desk'],
        environment: ['(none)', 'prod'],
        version: ['(none)', '2.0.1'],
        k: '3',
        window: '24h',
        mode: 'bayesian',
        scope: 'pooled',
      });
      expect(chosen['series']).toHaveLength(2);
    });

    test('narrow the series to the chosen agents', async () => {
      const { target } = queries.find(({ name }) => name === 'variable series')!;

      const one = await show(store, target, { ...chosen, assistant: ['order-desk'] });
      const none = await show(store, target, { ...chosen, assistant: [] });

      expect(column(one, 'text')).toEqual(['order-desk 2.0.1 (prod)']);
      expect(none.rows).toEqual([]);
    });
  });

  describe('the panels of figures', () => {
    // Prior Beta(1, 1), K = 3. 10 of 10: 11*12*13 / (12*13*14) = 0.785714. 9 of 10: 10*11*12 / (12*13*14) = 0.604396.
    // 7 of 10: 8*9*10 / (12*13*14) = 0.329670, and pass@3 = 1 - 4*5*6 / (12*13*14) = 0.945055.
    test('show a step from what stood when the range began to where the rollup has come', async () => {
      const [series] = chosen['series'] as string[];

      const target = panelQuery(/, pass\^\$k: all of \$k conversations are right$/);

      const frame = await show(store, target, {
        ...chosen,
        series: [series!],
      });

      expect(column(frame, 'time')).toEqual([
        '2026-11-30 09:00:00.000',
        '2026-11-30 10:00:00.000',
        '2026-11-30 11:00:00.000',
        '2026-11-30 11:30:00.000',
      ]);
      const means = column(frame, 'pass^K').map((mean) => Number(mean).toFixed(6));
      expect(means).toEqual(['0.785714', '0.604396', '0.329670', '0.329670']);

      // 10:00 and 11:00 share the two hours of a wide range's pixel.
      const wide = await show(store, target, { ...chosen, series: [series!] }, { ...CONTEXT, intervalMs: 7_200_000 });
      expect(column(wide, 'time').map((time) => String(time).slice(11, 16))).toEqual(['09:00', '11:00', '11:30']);
    });

    test('show what stood before a range in which nothing changed, and nothing beyond where the rollup has come', async () => {
      const query = panelQuery(/pass\^\$k.*all series/);

      const late = await show(store, query, chosen, { ...CONTEXT, fromMs: Date.parse('2026-11-30T11:20:00Z') });
      const beyond = await show(store, query, chosen, { ...CONTEXT, fromMs: Date.parse('2026-11-30T11:31:00Z') });

      const times = [
        '2026-11-30 11:20:00.000',
        '2026-11-30 11:20:00.000',
        '2026-11-30 11:30:00.000',
        '2026-11-30 11:30:00.000',
      ];
      expect(column(late, 'time')).toEqual(times);
      expect(new Set(column(late, 'series_name'))).toEqual(
        new Set(['order-desk 2.0.1 (prod)', String.raw`it's a \ "name" (none) ((none))`]),
      );
      expect(beyond.rows).toEqual([]);
    });

    test('name pass^K and pass@K rightly', async () => {
      const now = await show(store, panelQuery(/How reliable/), chosen);

      expect(column(now, 'K')).toEqual([3, 3]);
      for (const [name, value] of [
        ['pass^K', 0.32967],
        ['pass@K', 0.945055],
      ] as const) {
        for (const shown of column(now, name)) expect(shown).toBeCloseTo(value, 6);
      }
      // The interval of pass@3 of Beta(8, 4), from the published example's counts.
      expect(column(now, 'pass@K lower')[0]).toBeCloseTo(0.773306, 6);
      expect(column(now, 'pass@K upper')[0]).toBeCloseTo(0.998696, 6);
      // Of 12, two outstanding and one of them wrong for certain: 7/12 .. 8/12, to the third power.
      expect(column(now, 'pass^K if all outstanding fail')[0]).toBeCloseTo((7 / 12) ** 3, 12);
      expect(column(now, 'pass^K if all outstanding succeed')[0]).toBeCloseTo((8 / 12) ** 3, 12);
      expect(column(now, 'n')).toEqual([10, 10]);
    });

    test('show no interval in frequentist mode, and nothing per task where no task is recorded', async () => {
      const query = panelQuery(/How reliable/);

      const frequentist = await show(store, query, { ...chosen, mode: 'frequentist' });
      const perTask = await show(store, query, { ...chosen, scope: 'per_task' });

      // 0.7^3 and 1 - 0.3^3.
      expect(column(frequentist, 'pass^K')[0]).toBeCloseTo(0.343, 12);
      expect(column(frequentist, 'pass@K')[0]).toBeCloseTo(0.973, 12);
      expect(column(frequentist, 'pass^K lower')).toEqual([null, null]);
      expect(perTask.rows).toEqual([]);
    });
  });

  test('the panel of comparisons shows the newest version and the window against what was before, as it stands', async () => {
    const frame = await show(store, panelQuery(/Newest version/), chosen);

    expect(column(frame, 'this')).toEqual(['version 2.0.1', 'version 2.0.1, 24h']);
    expect(column(frame, 'compared with')).toEqual(['version 1.9', 'the 24h before']);
    // 7 and 10 of 10 under Beta(1, 1), K = 3: 8*9*10 and 11*12*13, over 12*13*14.
    expect(column(frame, 'pass^K')[0]).toBeCloseTo(720 / 2184, 12);
    expect(column(frame, 'pass^K before')[0]).toBeCloseTo(1716 / 2184, 12);
    expect(column(frame, 'difference')[0]).toBeCloseTo(-996 / 2184, 12);
    // x ~ Beta(11, 1), y ~ Beta(8, 4): P(y < x) = sum_{j=8..11} C(11, j) B(11 + j, 12 - j) / B(11, 1) = 127/133.
    expect(column(frame, 'P(worse)')[0]).toBeCloseTo(127 / 133, 9);
    expect(column(frame, 'stands since')[0]).toBe('2026-11-30 11:00:00.000');
  });

  describe('the panels of what went wrong', () => {
    test('show the closed conversations that failed, with why and the trace id as it is stored', async () => {
      const frame = await show(store, panelQuery(/Failed conversations/), chosen);

      expect(column(frame, 'conversation')).toEqual(['conversation-1']);
      expect(column(frame, 'turn')).toEqual([2]);
      expect(column(frame, 'trace_id')).toEqual([TURNS[1].traceId]);
      expect(TURNS[1].traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(column(frame, 'scores')).toEqual(['tools 0.5']);
      expect(column(frame, 'why')).toEqual(['tools: missing lookup_order']);
    });

    test('show the scores of the trace that was clicked', async () => {
      const frame = await show(store, panelQuery(/Scores of trace/), {
        ...chosen,
        trace: TURNS[1].traceId,
      });

      expect(column(frame, 'criterion')).toEqual(['answer', 'tools']);
      expect(column(frame, 'outcome')).toEqual(['abstained: no_expectation', 'failed']);
    });

    test('show each open alert once, as it stands', async () => {
      const frame = await show(store, panelQuery(/Open alerts/), chosen);

      expect(column(frame, 'alert_id')).toEqual(['alert-1']);
      expect(column(frame, 'severity')).toEqual(['page']);
      expect(column(frame, 'conversations since')).toEqual([28]);
    });
  });

  describe('the alert rules', () => {
    const values = (uid: string, at: string) => {
      const { data } = ruleGroups.flatMap(({ rules }) => rules).find((rule) => rule.uid === uid)!;
      const { model, relativeTimeRange } = data[0]!;
      const toMs = Date.parse(at);
      const fromMs = toMs - relativeTimeRange!.from * 1_000;
      return show(store, model as Target, {}, { fromMs, toMs, intervalMs: 1_000 });
    };

    test('give one number for each set of labels: 2 for a page that is open', async () => {
      const frame = await values('tracegrade-drop', '2026-12-02T12:00:00Z');

      expect(frame.names).toEqual(['time', 'assistant', 'version', 'environment', 'objective', 'value']);
      expect(frame.rows.map((row) => row.slice(1))).toEqual([['order-desk', '2.0.1', 'prod', 'baseline', 2]]);
      expect((await values('tracegrade-drop-page', '2026-12-02T12:00:00Z')).rows).toEqual(frame.rows);
    });

    test('leave out a series that has had no conversation for a week, since nothing can close its alert', async () => {
      const frame = await values('tracegrade-drop', '2026-12-07T10:17:00Z');

      expect(frame.rows).toEqual([]);
    });

    test('see by themselves that workers or rollup are gone', async () => {
      const seen = await values('tracegrade-blind', '2026-11-30T11:35:00Z');
      const gone = await values('tracegrade-blind', '2026-11-30T11:45:00Z');

      expect(column(seen, 'value')).toEqual([0, 0, 0]);
      expect(column(gone, 'value')).toEqual([1, 1, 0]);
    });
  });

  // Last, because it merges.
  describe('the queries of boards and rules', () => {
    test('give rows of the shape that they need, the same before and after everything is merged', async () => {
      const before = new Map<string, Frame>();

      const all = drawn(chosen);
      for (const { name, target, chosen: one } of all) {
        const frame = await show(store, target, one);
        if (target.format === 0) expectTimeSeries(frame);
        expect(frame.rows.length, name).toBeGreaterThan(0);
        before.set(name, frame);
      }
      await mergeAll(store);

      expect(before.size).toBe(all.length);
      for (const { name, target, chosen: one } of all)
        expect(await show(store, target, one), name).toEqual(before.get(name));
    });

    test('run with a range of nothing and an interval of 0', async () => {
      for (const { name, target, chosen: one } of drawn(chosen)) {
        const frame = await show(store, target, one, { fromMs: 0, toMs: 0, intervalMs: 0 });
        if (target.format === 0) expectTimeSeries(frame);
        expect(frame.names.length, name).toBeGreaterThan(0);
      }
    });
  });
});
