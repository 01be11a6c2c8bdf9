import type { Store } from '../store/clickhouse.js';
import { earliestStands } from '../store/clock.js';
import type { AlertRow, StateRow } from './alert-rows.js';
import { ALERT_COLUMNS, STATE_COLUMNS, stateValues } from './alert-rows.js';

/** Rows that one insert may hold: a run over years stays below the engine's limit of partitions an insert. */
const ROWS_AN_INSERT = 5_000;

/** Writes transitions, of the rows of one of which the earliest stands; `readMicros` being when what decided them was read, by the clock of the store. */
export async function writeAlerts(
  store: Pick<Store, 'insertRows'>,
  alerts: readonly AlertRow[],
  readMicros: number,
): Promise<void> {
  const version = earliestStands(readMicros);
  const rows = alerts.map((alert) => [...ALERT_COLUMNS.map((column) => alert[column]), version]);
  for (let at = 0; at < rows.length; at += ROWS_AN_INSERT) {
    await store.insertRows('alerts', [...ALERT_COLUMNS, 'version'], rows.slice(at, at + ROWS_AN_INSERT));
  }
}

/** Writes what is kept of watches. */
export async function writeStates(store: Pick<Store, 'insertRows'>, states: readonly StateRow[]): Promise<void> {
  await store.insertRows('detector_state', STATE_COLUMNS, states.map(stateValues));
}
