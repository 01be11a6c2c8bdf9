import { expect, test } from 'vitest';
import { freshStore, graded, turn, WRITER_DEPS } from '../../support/store.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const DAYS = 90;
const ROUNDS = 12;

test('revisions of turns from many days make parts by months, and merge into one a month', async () => {
  const store = await freshStore();
  const writer = store.writer(WRITER_DEPS);
  // 90 days up to November 15th: days of August, September, October and November.
  const last = Date.parse('2026-11-15T09:00:00Z');
  const revised = (revision: number) =>
    Array.from({ length: DAYS }, (_, day) => {
      const startedAtMs = last - day * DAY_MS;
      return graded(turn({ trace: day + 1, startedAtMs, endedAtMs: startedAtMs + 1_000, revision }));
    });
  const parts = async () => {
    const [row] = await store.rows(
      `SELECT count() AS parts, uniqExact(partition) AS partitions FROM system.parts
       WHERE active AND table = 'interactions' AND database = {database:String}`,
      { database: store.config.database },
    );
    return { parts: Number(row?.['parts']), partitions: Number(row?.['partitions']) };
  };

  for (let round = 1; round <= ROUNDS; round += 1) {
    const written = revised(round).map((row) => writer.write(row));
    writer.flush();
    expect(new Set((await Promise.all(written)).map(({ status }) => status))).toEqual(new Set(['ok']));
  }
  const before = await parts();
  await store.command('OPTIMIZE TABLE {db}.interactions FINAL');

  // By days there would be 90 of each insert, 1080 in all.
  expect(before.partitions).toBe(4);
  expect(before.parts).toBeLessThanOrEqual(ROUNDS * 4);
  expect(await parts()).toEqual({ parts: 4, partitions: 4 });
  const [row] = await store.rows('SELECT count() AS n, min(revision) AS least FROM {db}.interactions');
  expect({ n: Number(row?.['n']), least: Number(row?.['least']) }).toEqual({ n: DAYS, least: ROUNDS });
  await writer.close({ drainMs: 1_000 });
});
