import { expect } from 'vitest';

import type { Store } from '../../src/store/clickhouse.js';
import { expandMacros, expandVariables, type Chosen, type MacroContext } from './grafana-macros.js';
import { dashboards, queries, type Target } from './grafana.js';

/** Rows as the engine gives them, with the names and types of their columns. */
export interface Frame {
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export const column = ({ names, rows }: Frame, name: string) => rows.map((row) => row[names.indexOf(name)]);

/** Runs a query as a board does: read-only, and in the database of the data source. */
export async function show(
  store: Pick<Store, 'query'>,
  target: Target,
  chosen: Chosen,
  context: MacroContext,
): Promise<Frame> {
  const sql = expandMacros(expandVariables(target.rawSql, chosen), context);
  const outcome = await store.query(sql, { format: 'JSONCompact' });
  if (outcome.status !== 'ok') {
    throw new Error(outcome.status === 'refused' ? `${outcome.message}\n${sql}` : outcome.cause.message);
  }
  let text = '';
  for await (const chunk of outcome.body) text += Buffer.from(chunk).toString('utf8');
  const { meta, data } = JSON.parse(text) as { meta: { name: string; type: string }[]; data: unknown[][] };
  return { names: meta.map(({ name }) => name), types: meta.map(({ type }) => type), rows: data };
}

/** What is chosen when a board is opened: its variables' queries decide what there is, in their order. */
export async function openBoard(store: Pick<Store, 'query'>, context: MacroContext): Promise<Chosen> {
  const chosen: Record<string, string | readonly string[]> = {};
  for (const { name, query, multi, current } of [...dashboards.values()].flatMap(({ templating }) => templating.list)) {
    if (typeof query === 'string') {
      chosen[name] = current.value;
      continue;
    }
    const values = (await show(store, query, chosen, context)).rows.map(([value]) => String(value));
    const one = values.find((value) => value === current.value) ?? values[0] ?? '';
    chosen[name] = multi === true ? values : one;
  }
  return chosen;
}

/** Each query as often as it is drawn: repeated panels once for each value. */
export function drawn(
  chosen: Chosen,
): readonly { readonly name: string; readonly target: Target; readonly chosen: Chosen }[] {
  return queries.flatMap(({ name, target, repeat }) => {
    if (repeat === undefined) return [{ name, target, chosen }];
    return [chosen[repeat] ?? []].flat().map((value) => ({
      name: `${name}, ${repeat} ${value}`,
      target,
      chosen: { ...chosen, [repeat]: value },
    }));
  });
}

/** What the plugin needs to make time series of rows: a time in order, labels of text, numbers; no point twice. */
export function expectTimeSeries({ names, types, rows }: Frame): void {
  expect(names[0]).toBe('time');
  expect(types[0]).toMatch(/^DateTime(64\(3, 'UTC'\))?$/);
  for (const type of types.slice(1)) {
    expect(type).toMatch(/^(LowCardinality\(String\)|String|Nullable\(Float64\)|Float64|UInt64)$/);
  }
  expect(types.some((type) => /Float64|UInt64/.test(type))).toBe(true);
  const times = rows.map(([time]) => String(time));
  expect(times).toEqual([...times].sort());
  const labels = types.flatMap((type, i) => (/String/.test(type) ? [i] : []));
  const keys = rows.map((row) => JSON.stringify([row[0], ...labels.map((i) => row[i])]));
  expect(new Set(keys).size).toBe(keys.length);
}
