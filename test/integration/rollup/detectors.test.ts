import { expect, test } from 'vitest';

import type { AlertRules } from '../../../src/rollup/alert-rules.js';
import { createAlerting } from '../../../src/rollup/alerting.js';
import { createDetectors } from '../../../src/rollup/detectors.js';
import {
  ALERTING_RULES,
  alertsOf,
  ALERT_RULES,
  NO_EVENTS,
  MINUTE_MS,
  START_MS,
  stream,
  writeClosed,
} from '../../support/alerts.js';
import { freshStore, type TestStore } from '../../support/store.js';
import { seededRandom } from '../../support/random.js';

const at = (minute: number) => START_MS + minute * MINUTE_MS;

/** Healthy, bad for 120 minutes, healthy again; p0 = 0.8^(1/3) = 0.928. */
const UPS_AND_DOWNS = [...stream(300, 3), ...stream(120, 40, 300), ...stream(300, 0, 420)];

test('opens on a drop and closes on the recovery, with what decided', async () => {
  const store = await freshStore();
  await writeClosed(store, UPS_AND_DOWNS);

  await createDetectors(store, ALERT_RULES).step(at(720));

  const alerts = await alertsOf(store);
  expect(alerts.map(({ kind, transition, severity }) => [kind, transition, severity])).toEqual([
    ['drop', 'opened', 'page'],
    ['drop', 'closed', 'page'],
  ]);
  const [opened, closed] = alerts as { at: string; changed_at: string; p0: number; alert_id: string }[];
  expect(opened?.p0).toBeCloseTo(0.8 ** (1 / 3), 12);
  expect(Date.parse(`${opened?.at}Z`)).toBeGreaterThan(at(300));
  expect(Date.parse(`${opened?.at}Z`)).toBeLessThan(at(340));
  expect(Date.parse(`${opened?.changed_at}Z`)).toBeGreaterThan(at(295));
  expect(Date.parse(`${closed?.at}Z`)).toBeGreaterThan(at(420));
  expect(closed?.alert_id).toBe(opened?.alert_id);
});

test('gives the same alerts after kills at any write, with two at once, in ticks or in one go', async () => {
  const store = await freshStore();
  await writeClosed(store, UPS_AND_DOWNS);
  await createDetectors(store, ALERT_RULES).step(at(720));
  const expected = await alertsOf(store);
  for (const table of ['alerts', 'detector_state', 'conversations', 'trials']) {
    await store.command(`TRUNCATE TABLE {db}.${table}`);
  }

  const random = seededRandom(7);
  // Every third write of either is the last thing that it does.
  const mortal = () => ({
    rows: (...args: Parameters<typeof store.rows>) => store.rows(...args),
    insertRows: (...args: Parameters<typeof store.insertRows>) =>
      random() < 1 / 3 ? Promise.reject(new Error('killed')) : store.insertRows(...args),
  });
  const start = () => createDetectors(mortal(), ALERT_RULES);
  let rollups = [start(), start()];
  let kills = 0;
  for (let minute = 0; minute <= 720; minute += 20) {
    await writeClosed(
      store,
      UPS_AND_DOWNS.filter(({ closedAtMs }) => closedAtMs > at(minute - 20) && closedAtMs <= at(minute)),
    );
    const ends = await Promise.allSettled(rollups.map((rollup) => rollup.step(at(minute))));
    rollups = rollups.map((rollup, i) => (ends[i]?.status === 'rejected' ? start() : rollup));
    kills += ends.filter(({ status }) => status === 'rejected').length;
  }
  await createDetectors(store, ALERT_RULES).step(at(720));

  expect(kills).toBeGreaterThan(10);
  expect(await alertsOf(store)).toEqual(expected);
  expect(expected).toHaveLength(2);
});

test('makes the same alerts again from nothing but trials and conversations', async () => {
  const store = await freshStore();
  await writeClosed(store, UPS_AND_DOWNS);
  const detectors = createDetectors(store, ALERT_RULES);
  for (let minute = 0; minute <= 720; minute += 45) await detectors.step(at(minute));
  const before = await alertsOf(store);

  await store.command('TRUNCATE TABLE {db}.alerts');
  await store.command('TRUNCATE TABLE {db}.detector_state');
  await createDetectors(store, ALERT_RULES).step(at(720));

  expect(before).toHaveLength(2);
  expect(await alertsOf(store)).toEqual(before);
});

test('an outage of the judge moves no detector, and says that nobody sees', async () => {
  const store = await freshStore();
  // 500 conversations of which rules fail 3 % and the judge answers for none: to a detector 15 of 15 would be wrong.
  const outage = stream(500, 3, 300).map((one) => ({
    ...one,
    kind: one.kind === 'i' ? ('i' as const) : ('o' as const),
  }));
  await writeClosed(store, [...stream(300, 2), ...outage, ...stream(200, 2, 800)]);
  const detectors = createDetectors(store, ALERT_RULES);

  for (let minute = 0; minute <= 1_000; minute += 25) await detectors.step(at(minute));

  const alerts = await alertsOf(store);
  expect(alerts.map(({ kind, transition, details }) => [kind, transition, JSON.parse(String(details)).reason])).toEqual(
    [
      ['blind', 'opened', 'outstanding'],
      ['blind', 'closed', 'outstanding'],
    ],
  );
  const [state] = await store.rows(
    `SELECT folded, left_out, JSONExtractString(state, 'state', 'phase', 'kind') AS phase
     FROM {db}.detector_state FINAL WHERE objective = 'reliable'`,
  );
  expect(state).toMatchObject({ phase: 'watching' });
  // All before and nearly all behind the outage. Of it at most its very last one, a failure behind all that wait.
  expect(Number(state?.['folded'])).toBeGreaterThan(470);
  expect(Number(state?.['folded'])).toBeLessThanOrEqual(501);
});

test('a new version starts afresh, and closes what the old one left open', async () => {
  const store = await freshStore();
  const bad = [...stream(150, 3), ...stream(60, 60, 150)];
  const next = stream(200, 2, 210, { version: '2' });
  await writeClosed(store, [...bad, ...next]);
  const detectors = createDetectors(store, ALERT_RULES);
  await detectors.step(at(410));
  expect((await alertsOf(store)).map(({ transition }) => transition)).toEqual(['opened']);

  await detectors.step(at(209 + 24 * 60));

  const [opened, closed] = await alertsOf(store);
  expect(opened).toMatchObject({ transition: 'opened', agent_version: '1' });
  expect(closed).toMatchObject({ transition: 'closed', agent_version: '1', at: '2026-11-03 03:29:00.000' });
  expect(JSON.parse(String(closed?.['details']))).toMatchObject({ reason: 'superseded' });
});

test('an alert of an agent that fell silent stays open', async () => {
  const store = await freshStore();
  await writeClosed(store, [...stream(150, 3), ...stream(60, 60, 150)]);
  const detectors = createDetectors(store, ALERT_RULES);
  await detectors.step(at(210));

  await detectors.step(at(5_000));

  expect((await alertsOf(store)).map(({ transition }) => transition)).toEqual(['opened']);
});

test('counts what turned up behind the position, and leaves it out', async () => {
  const store = await freshStore();
  await writeClosed(store, stream(150, 3));
  const detectors = createDetectors(store, ALERT_RULES);
  await detectors.step(at(160));
  await writeClosed(store, [{ id: 'late', closedAtMs: at(100) + 1, kind: 'i' }]);

  await detectors.step(at(161));
  await detectors.step(at(162));

  const [state] = await store.rows("SELECT folded, behind FROM {db}.detector_state FINAL WHERE objective = 'reliable'");
  expect(state).toMatchObject({ folded: 150, behind: 1 });
});

test('the silence of all workers is an alert, and a sign of life ends it', async () => {
  const store = await freshStore();
  const beat = (minute: number, lagMs = 0) => ({
    worker: 'w',
    source: 'spool',
    atMs: at(minute),
    streamTimeMs: at(minute) - lagMs,
    details: {},
  });
  await store.recordHeartbeats([0, 1, 2, 3].map((minute) => beat(minute)));
  const alerting = createAlerting(store, ALERTING_RULES, NO_EVENTS);

  await alerting.step({ nowMs: null, wallMs: at(8) });
  expect(await alertsOf(store)).toEqual([]);
  await alerting.step({ nowMs: null, wallMs: at(9) });
  await store.recordHeartbeats([beat(30), beat(31)]);
  await alerting.step({ nowMs: null, wallMs: at(33) });
  await store.recordHeartbeats([32, 33, 34, 35, 36, 37, 38, 39].map((minute) => beat(minute, 11 * MINUTE_MS)));
  await alerting.step({ nowMs: null, wallMs: at(41) });

  const rows = (await alertsOf(store)).map(({ transition, at: time, details }) => [
    transition,
    time,
    (JSON.parse(String(details)) as { reason: string }).reason,
  ]);
  expect(rows).toEqual([
    ['opened', '2026-11-02 00:08:00.000', 'silent'],
    ['closed', '2026-11-02 00:30:00.000', 'silent'],
    ['opened', '2026-11-02 00:37:00.000', 'lag'],
  ]);
});

/** Rows of `conversations` of one that all started at `startedAtMs`, each later than the one before. */
async function writeVersions(
  store: TestStore,
  id: string,
  startedAtMs: number,
  versions: readonly { readonly closedAtMs: number; readonly waits: boolean; readonly trial?: boolean }[],
): Promise<void> {
  const columns =
    'conversation_id,assistant_id,agent_version,environment,policy,started_at,ended_at,first_closed_at,verdict,counts,outstanding,trial,version';
  for (const [number, { closedAtMs, waits, trial = null }] of versions.entries()) {
    const verdict = [waits ? 'unscored' : 'correct', !waits, waits ? 1 : 0, trial];
    const row = [id, 'order-desk', '1', 'prod', 'p1', startedAtMs, startedAtMs, closedAtMs, ...verdict];
    await store.insertRows('conversations', columns.split(','), [[...row, Date.now() * 1_000 + number]]);
  }
}

const foldedOf = async (store: TestStore) => {
  const [row] = await store.rows("SELECT folded, left_out FROM {db}.detector_state FINAL WHERE objective = 'reliable'");
  return [Number(row?.['folded']), Number(row?.['left_out'])];
};

test('does not wait for what a later version of a conversation says has closed before', async () => {
  const store = await freshStore();
  await writeClosed(store, stream(200, 2));
  const detectors = createDetectors(store, ALERT_RULES);
  await detectors.step(at(200));

  // Its last turn, which waits for the judge, moved to another conversation.
  await writeVersions(store, 'moved', at(100), [
    { closedAtMs: at(203), waits: true },
    { closedAtMs: at(150), waits: false, trial: true },
  ]);
  await writeClosed(store, stream(30, 2, 200));
  await detectors.step(at(229));

  expect(await foldedOf(store)).toEqual([230, 0]);
});

test('does not wait for one that has been a trial, under another name or with another close', async () => {
  const store = await freshStore();
  await writeClosed(store, stream(200, 2));
  const detectors = createDetectors(store, ALERT_RULES);
  await detectors.step(at(200));

  await writeVersions(store, 'renamed', at(190), [{ closedAtMs: at(203), waits: true, trial: true }]);
  await writeClosed(store, stream(30, 2, 200));
  await detectors.step(at(229));

  expect(await foldedOf(store)).toEqual([230, 0]);
});

test('a judge that answers no worker raises an alert of its own, which ends with its answers and masks no silence', async () => {
  const store = await freshStore();
  const beat = (minute: number, judge: string, judgeAnswers: number) => ({
    worker: 'w',
    source: 'spool',
    atMs: at(minute),
    streamTimeMs: at(minute),
    details: { judge, judgeAnswers },
  });
  const [first, second] = [1, 2].map(() => createAlerting(store, ALERTING_RULES, NO_EVENTS));

  await store.recordHeartbeats([0, 1, 2].map((minute) => beat(minute, 'closed', 7)));
  await store.recordHeartbeats([3, 4, 5, 6, 7, 8, 9].map((minute) => beat(minute, 'open', 7)));
  await first?.step({ nowMs: null, wallMs: at(11) });
  await second?.step({ nowMs: null, wallMs: at(16) });
  // A start, then an answer.
  await store.recordHeartbeats([beat(20, 'closed', 0), beat(21, 'closed', 1)]);
  await Promise.all([first?.step({ nowMs: null, wallMs: at(23) }), second?.step({ nowMs: null, wallMs: at(23) })]);

  const rows = (await alertsOf(store)).map(({ transition, at: time, alert_id, details }) => [
    transition,
    String(time).slice(11, 16),
    (JSON.parse(String(details)) as { reason: string }).reason,
    alert_id,
  ]);
  const [opened, silent] = [rows[0]?.[3], rows[1]?.[3]];
  expect(rows).toEqual([
    ['opened', '00:08', 'judge', opened],
    ['opened', '00:14', 'silent', silent],
    ['closed', '00:20', 'silent', silent],
    ['closed', '00:21', 'judge', opened],
  ]);
  expect(silent).not.toBe(opened);
});

test('a worker without traffic, which had answers of the judge before, hides no outage of it', async () => {
  const store = await freshStore();
  const beat = (worker: string, minute: number, judge: string, judgeAnswers: number) => ({
    worker,
    source: worker,
    atMs: at(minute),
    streamTimeMs: at(minute),
    details: { judge, judgeAnswers },
  });
  const minutes = Array.from({ length: 12 }, (_, minute) => minute);
  // Both had answers in the first minute; then one has nothing to ask, and the other is refused until it is answered.
  const idle = minutes.map((minute) => beat('idle', minute, 'closed', 4));
  const busy = minutes.map((minute) =>
    minute > 2 && minute < 10 ? beat('busy', minute, 'open', 9) : beat('busy', minute, 'closed', 7 + minute),
  );

  await store.recordHeartbeats([...idle, ...busy]);
  await createAlerting(store, ALERTING_RULES, NO_EVENTS).step({ nowMs: null, wallMs: at(13) });

  expect((await alertsOf(store)).map(({ transition, at: time }) => [transition, String(time).slice(11, 16)])).toEqual([
    ['opened', '00:08'],
    ['closed', '00:10'],
  ]);
});

test('an alert whose objective was taken out of the configuration is closed, once', async () => {
  const store = await freshStore();
  await writeClosed(store, [...stream(150, 3), ...stream(200, 60, 150)]);
  await createDetectors(store, ALERT_RULES).step(at(250));

  const without = { ...ALERT_RULES, objectives: [] };
  await createDetectors(store, without).step(at(300));
  await createDetectors(store, without).step(at(301));

  const alerts = await alertsOf(store);
  expect(alerts.map(({ transition }) => transition)).toEqual(['opened', 'closed']);
  expect(alerts[1]).toMatchObject({ alert_id: alerts[0]?.['alert_id'], at: '2026-11-02 05:00:00.000' });
  expect(JSON.parse(String(alerts[1]?.['details']))).toMatchObject({ reason: 'withdrawn' });
});

/** Rows of conversations and trials that are read. */
function counting(store: TestStore) {
  const read = { rows: 0 };
  const counted = {
    insertRows: (...args: Parameters<typeof store.insertRows>) => store.insertRows(...args),
    rows: async (...args: Parameters<typeof store.rows>) => {
      const rows = await store.rows(...args);
      if (args[0].includes('conversation_id')) read.rows += rows.length;
      return rows;
    },
  };
  return { read, counted };
}

const WITH_BASELINE: AlertRules = {
  ...ALERT_RULES,
  objectives: [
    ...ALERT_RULES.objectives,
    ...ALERT_RULES.objectives.map((rule) => ({
      ...rule,
      name: 'baseline',
      target: { kind: 'baseline', conversations: 300 } as const,
    })),
  ],
};

test('reads of a series that has no baseline yet what is new, also after a restart', async () => {
  const store = await freshStore();
  await writeClosed(store, stream(250, 3));
  const { read, counted } = counting(store);
  await createDetectors(counted, WITH_BASELINE).step(at(250));
  const first = read.rows;
  // What was written within a minute is looked for again.
  await store.command(
    'ALTER TABLE {db}.trials UPDATE written_at = now64(3) - toIntervalHour(1) WHERE 1 SETTINGS mutations_sync = 2',
  );
  await writeClosed(store, stream(1, 0, 251));
  read.rows = 0;

  await createDetectors(counted, WITH_BASELINE).step(at(251));

  expect(first).toBeGreaterThanOrEqual(250);
  // What closed within the ten minutes after which sight looks.
  expect(read.rows).toBeLessThan(15);
});

test('freezes the same objectives, and folds the same, however its beginning was cut into ticks', async () => {
  const store = await freshStore();
  // A few that wait, and are given up an hour later; some that are no trial.
  const given = stream(420, 4).map((one, minute) => ({
    ...one,
    kind: minute % 97 === 5 ? ('o' as const) : minute % 50 === 7 ? ('u' as const) : one.kind,
  }));
  await writeClosed(store, given);
  const states = async () =>
    store.rows(
      "SELECT objective, frozen, folded, left_out, state FROM {db}.detector_state FINAL WHERE objective != '' ORDER BY objective",
    );
  await createDetectors(store, WITH_BASELINE).step(at(500));
  const atOnce = await states();
  for (const table of ['alerts', 'detector_state']) await store.command(`TRUNCATE TABLE {db}.${table}`);

  for (let minute = 0; minute <= 500; minute += 33) await createDetectors(store, WITH_BASELINE).step(at(minute));
  await createDetectors(store, WITH_BASELINE).step(at(500));

  expect(atOnce.map(({ objective }) => objective)).toEqual(['baseline', 'reliable']);
  expect(await states()).toEqual(atOnce);
});

test('a version that was retracted supersedes nothing', async () => {
  const store = await freshStore();
  await store.command('SYSTEM STOP MERGES {db}.conversations');
  await writeClosed(store, [
    ...stream(150, 3),
    ...stream(60, 60, 150),
    ...stream(20, 0, 215, { version: '2', kind: 'c' }),
  ]);
  await store.command(
    'INSERT INTO {db}.conversations SELECT * REPLACE (true AS retracted, version + 1 AS version) FROM {db}.conversations ' +
      "WHERE agent_version = '2'",
  );
  const detectors = createDetectors(store, ALERT_RULES);
  await detectors.step(at(240));

  await detectors.step(at(3_000));

  expect((await alertsOf(store)).map(({ agent_version: version, transition }) => [version, transition])).toEqual([
    ['1', 'opened'],
  ]);
});
