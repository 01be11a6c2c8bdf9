import { createEvents, type Events } from '../../src/telemetry/events.js';
import { createLogger, type LogLevel } from '../../src/telemetry/logger.js';
import { createRegistry, type Registry } from '../../src/telemetry/metrics.js';

export interface TelemetryProbe {
  readonly events: Events;
  readonly registry: Registry;
  /** The log records so far, oldest first. */
  readonly records: () => readonly Record<string, unknown>[];
  /** The log as it was written. */
  readonly text: () => string;
  /** A sample of the exposition by its full name, labels included; undefined when there is none. */
  readonly sample: (name: string) => Promise<number | undefined>;
  readonly advance: (ms: number) => void;
}

/** Telemetry that writes into memory, with a clock that is turned by hand. */
export function telemetryProbe(level: LogLevel = 'debug'): TelemetryProbe {
  let nowMs = Date.UTC(2026, 0, 1);
  let text = '';
  const sink = { isTTY: false, write: (line: string) => (text += line) };
  const logger = createLogger({ level, format: 'json' }, { sink, nowMs: () => nowMs });
  const registry = createRegistry({ version: '1.2.3', nodeVersion: 'v20.19.0' });
  return {
    events: createEvents({ logger, registry, nowMs: () => nowMs }),
    registry,
    records: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => text,
    async sample(name) {
      const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${name} `));
      return line === undefined ? undefined : Number(line.slice(name.length + 1));
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
