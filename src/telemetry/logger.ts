import { pino } from 'pino';
import type { SafeError } from './safe-error.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Numbers, words from small sets, ids and texts of our own making. Never span content, prompts or secrets. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | SafeError | undefined>>;

export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  /** Unexpected, nothing was lost. */
  warn(fields: LogFields, message: string): void;
  /** Data was lost, or a person must act. */
  error(fields: LogFields, message: string): void;
}

export interface LoggerConfig {
  readonly level: LogLevel;
  /** `auto`: text where a person is looking, else JSON. */
  readonly format: 'auto' | 'json' | 'text';
}

export interface LoggerDeps {
  /** Standard error; standard output belongs to results. */
  readonly sink: { write(text: string): unknown; readonly isTTY: boolean };
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
}

// Nothing of these names is ever logged; should a change do so by mistake, its value still does not get out.
const SECRETS = ['authorization', 'token', 'tokens', 'password', 'apiKey', 'secret', 'prompt', 'query', 'answer'];

/** A logger that writes one line a record: JSON with `level`, `time` (ISO 8601, UTC), the fields and `msg`; or text. */
export function createLogger(config: LoggerConfig, deps: LoggerDeps): Logger {
  const { sink, nowMs } = deps;
  const asText = config.format === 'text' || (config.format === 'auto' && sink.isTTY);
  return pino(
    {
      level: config.level,
      base: null,
      timestamp: () => `,"time":"${new Date(nowMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
    },
    { write: (line: string) => sink.write(asText ? textLine(line) : line) },
  );
}

/** `12:00:00.000 WARN  what happened key=value`. */
function textLine(line: string): string {
  const { level, time, msg, event: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${textValue(value)}`);
  return `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${pairs.join('')}\n`;
}

function textValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
