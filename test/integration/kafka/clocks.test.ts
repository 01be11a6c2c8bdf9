import { expect } from 'vitest';
import { freshTopic, kafkaTest } from '../../support/kafka.js';
import { committed, until, write } from '../../support/kafka-reading.js';
import { keyed, ownClickHouse, turn, workerOver } from '../../support/kafka-worker.js';
import { agent, request, tool } from '../../support/turn-traffic.js';
import { expectBalance } from '../../support/worker.js';
import { DEFAULT_ASSEMBLE_RULES } from '../../../src/assemble/rules.js';

const MINUTE_MS = 60_000;

kafkaTest(
  'a producer whose clock is a day ahead or an hour behind moves no time: nothing is decided early',
  async () => {
    // As topics are by default, but for the hour ahead that brokers since 3.6 refuse.
    const configEntries = [
      { name: 'message.timestamp.type', value: 'CreateTime' },
      { name: 'message.timestamp.after.max.ms', value: String(48 * 60 * MINUTE_MS) },
    ];
    const topic = await freshTopic({ configEntries });
    const startMs = Date.now();
    const at = (offsetMs: number) => ({ timestamp: String(startMs + offsetMs) });
    await write(topic, [
      { ...keyed(1, request(tool(1, 2))), ...at(0) },
      { ...keyed(2, request(tool(2, 2))), ...at(-60 * MINUTE_MS) },
      { ...keyed(3, request(tool(3, 2))), ...at(24 * 60 * MINUTE_MS) },
      ...Array.from({ length: 20 }, (_, n) => ({
        ...keyed(10 + n, request(...turn(10 + n, 1))),
        ...at([0, -60 * MINUTE_MS, 24 * 60 * MINUTE_MS][n % 3] as number),
      })),
    ]);

    // With the patience of production: an hour that jumped by would end all three open turns as they stand.
    const { quietMs: _quiet, lateMs: _late, ...patience } = DEFAULT_ASSEMBLE_RULES;
    const running = await workerOver(await ownClickHouse(), topic, {
      assemble: { ...patience, quietMs: 50, lateMs: 50 },
    });
    await until(async () => expect(await running.metric('tracegrade_interactions_total')).toBe(20));
    expect(await running.metric('tracegrade_spans_open')).toBe(3);
    await write(topic, [
      { ...keyed(1, request(agent(1))), ...at(24 * 60 * MINUTE_MS) },
      { ...keyed(2, request(agent(2))), ...at(0) },
      { ...keyed(3, request(agent(3))), ...at(-60 * MINUTE_MS) },
    ]);
    await until(async () => expect(await committed(topic, topic)).toEqual([26]));
    await running.worker.whenIdle();

    const rows = await running.worker.store.rows(`SELECT count() AS n, uniqExact(interaction_id) AS ids,
    min(length(tool_calls.name)) AS calls, countIf(has(coverage, 'root_missing')) AS rootless
    FROM {db}.interactions`);
    const counts = Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]);
    expect(Object.fromEntries(counts)).toEqual({ n: 23, ids: 23, calls: 1, rootless: 0 });
    // Trace 3, six of the twenty (n = 2, 5, .. 17), and the root of trace 1.
    expect(await running.metric('tracegrade_clock_skews_total')).toBe(8);
    expect(await running.metric('tracegrade_stream_lag_seconds')).toBeLessThan(60);
    expect(running.telemetry.text()).toContain('clockSkewSeen');
    await expectBalance(running);
  },
);
