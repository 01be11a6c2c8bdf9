import { describe, expect, test } from 'vitest';

import { dashboardProviders, dashboards, dataSources, queries, ruleGroups, type Panel } from '../../support/grafana.js';

const PANEL_TYPES = ['row', 'state-timeline', 'table', 'timeseries'];
const rules = ruleGroups.flatMap((group) => group.rules);

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

describe('the queries', () => {
  test('say everything that the plugin asks for, of the data source that is provisioned', () => {
    const [{ uid, type }] = dataSources as [(typeof dataSources)[0]];

    expect(queries.length).toBeGreaterThan(15);
    for (const { name, target } of queries) {
      const { refId, datasource, editorType, queryType, format, pluginVersion, rawSql } = target;
      expect(datasource, name).toEqual({ type, uid });
      expect({ editorType, pluginVersion }, name).toEqual({ editorType: 'sql', pluginVersion: '4.20.0' });
      expect([0, 1], name).toContain(format);
      expect(queryType, name).toBe(format === 0 ? 'timeseries' : 'table');
      expect(refId, name).not.toBe('');
      expect(rawSql, name).toMatch(/^(SELECT|WITH)\b/);
    }
  });

  test('use no macro that a browser alone expands, no variable in rules, and no range in variables', () => {
    for (const { name, kind, target } of queries) {
      expect(target.rawSql, name).not.toMatch(/\$__(conditionalAll|adHocFilters|from\b|to\b|interval\b)/);
      if (kind === 'rule') expect(target.rawSql, name).not.toMatch(/\$\{|\$\$/);
      if (kind === 'variable') expect(target.rawSql, name).not.toMatch(/\$__/);
    }
  });

  test('never show what an agent said: prompts, answers, arguments, results', () => {
    for (const { name, target } of queries) {
      expect(target.rawSql, name).not.toMatch(/\b(query|answer|result)\b|\barguments\b(?!_status| =|`|,?\n)/);
    }
  });
});

describe.each([...dashboards])('%s', (_file, board) => {
  test('has a fixed uid, and variables whose names are used', () => {
    const text = JSON.stringify(board);

    expect(board.uid).toMatch(/^tracegrade-[a-z-]+$/);
    expect(text).not.toContain('DS_');
    for (const { name } of board.templating.list) expect(text).toMatch(new RegExp(`\\$\\{?${name}\\b`));
  });

  test('has panels of known types, each with its own id, a title and a description', () => {
    const ids = board.panels.map(({ id }) => id);

    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, title, description, targets } of board.panels) {
      expect(PANEL_TYPES, title).toContain(type);
      expect(title).not.toBe('');
      expect(type === 'row' || (description !== undefined && targets?.length === 1), title).toBe(true);
    }
  });

  test('has panels that lie within the grid and do not overlap', () => {
    board.panels.forEach((panel, index) => {
      const { x, y, w, h } = panel.gridPos;
      expect(x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= 24, panel.title).toBe(true);
      for (const other of board.panels.slice(index + 1))
        expect(overlap(panel, other), `${panel.title}, ${other.title}`).toBe(false);
    });
  });

  test('draws bands between columns that its queries give', () => {
    for (const { title, targets = [], fieldConfig } of board.panels) {
      const sql = targets.map(({ rawSql }) => rawSql).join('\n');
      for (const { matcher, properties } of fieldConfig?.overrides ?? []) {
        const below = properties.filter(({ id }) => id === 'custom.fillBelowTo').map(({ value }) => value);
        for (const name of matcher.id === 'byName' ? [matcher.options, ...below] : below) {
          expect(sql, `${title}: ${String(name)}`).toMatch(
            new RegExp(`(AS |\\s)\`?${String(name).replace('^', '\\^')}\`?(,|\\n|$)`),
          );
        }
      }
    }
  });
});

describe('the alert rules', () => {
  test('reduce and compare what they ask for', () => {
    expect(new Set(rules.map(({ uid }) => uid)).size).toBe(rules.length);
    for (const { uid, condition, data } of rules) {
      const refs = data.map(({ refId }) => refId);
      expect(uid.length).toBeLessThanOrEqual(40);
      expect(refs).toContain(condition);
      for (const { refId, datasourceUid, relativeTimeRange, model } of data) {
        expect(model.refId, uid).toBe(refId);
        if (datasourceUid === '__expr__') expect(refs.slice(0, refs.indexOf(refId)), uid).toContain(model.expression);
        else {
          // A range of nothing is refused.
          expect(relativeTimeRange, uid).toEqual({ from: 600, to: 0 });
          expect(model.format, uid).toBe(0);
        }
      }
    }
  });

  test('say what no data and errors mean: unknown is no news of an agent, and it is blindness', () => {
    const states = Object.fromEntries(
      rules.map(({ uid, noDataState, execErrState }) => [uid, [noDataState, execErrState]]),
    );

    expect(states).toEqual({
      'tracegrade-drop': ['OK', 'KeepLast'],
      'tracegrade-drop-page': ['OK', 'KeepLast'],
      'tracegrade-blind': ['Alerting', 'Alerting'],
    });
  });

  test('ask the same for a ticket and a page, and tell them apart by the threshold alone', () => {
    const [ticket, page] = rules.map(({ data }) => ({
      sql: data[0]?.model.rawSql,
      threshold: data.at(-1)?.model.conditions?.[0]?.evaluator,
    }));

    expect(page?.sql).toBe(ticket?.sql);
    expect(ticket?.threshold).toEqual({ type: 'gt', params: [0] });
    expect(page?.threshold).toEqual({ type: 'gt', params: [1] });
  });

  test('lead to panels that are there', () => {
    for (const { uid, annotations } of rules) {
      const board = [...dashboards.values()].find((one) => one.uid === annotations['__dashboardUid__']);
      expect(
        board?.panels.map(({ id }) => String(id)),
        uid,
      ).toContain(annotations['__panelId__']);
    }
  });
});

test('the data source takes its secret from the environment, and the names are those of version 4 of the plugin', () => {
  const [{ jsonData, secureJsonData }] = dataSources as [(typeof dataSources)[0]];

  expect(secureJsonData).toEqual({ password: '$TRACEGRADE_CLICKHOUSE_PASSWORD' });
  expect(jsonData).toMatchObject({
    host: '$TRACEGRADE_CLICKHOUSE_HOST',
    port: 9000,
    protocol: 'native',
    username: 'grafana',
  });
  expect(Object.keys(jsonData)).not.toEqual(expect.arrayContaining(['server']));
  expect(dashboardProviders.map(({ options }) => options.path)).toEqual(['/var/lib/grafana/dashboards/tracegrade']);
});
