import { expect, test } from 'vitest';
import { createLogger, type LoggerConfig } from '../../../src/telemetry/logger.js';

function logged(config: LoggerConfig, isTTY: boolean) {
  const lines: string[] = [];
  const sink = { isTTY, write: (text: string) => lines.push(text) };
  const logger = createLogger(config, { sink, nowMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6) });
  return { logger, lines };
}

test('writes one JSON object a line with level, time and message', () => {
  const { logger, lines } = logged({ level: 'info', format: 'auto' }, false);

  logger.warn({ event: 'spoolFilled', bytes: 5 }, 'the spool is full');

  expect(lines).toEqual([
    '{"level":"warn","time":"2026-01-02T03:04:05.006Z","event":"spoolFilled","bytes":5,"msg":"the spool is full"}\n',
  ]);
});

test('writes text for a person at a terminal, or when told to', () => {
  const expected = '03:04:05.006 WARN  the spool is full bytes=5 role="two words" error={"name":"Error"}\n';
  for (const { format, isTTY } of [
    { format: 'auto', isTTY: true },
    { format: 'text', isTTY: false },
  ] as const) {
    const { logger, lines } = logged({ level: 'info', format }, isTTY);

    logger.warn({ event: 'x', bytes: 5, role: 'two words', error: { name: 'Error' } }, 'the spool is full');

    expect(lines).toEqual([expected]);
  }
});

test('writes JSON at a terminal when told to', () => {
  const { logger, lines } = logged({ level: 'info', format: 'json' }, true);

  logger.info({}, 'started');

  expect(lines[0]).toMatch(/^\{.*\}\n$/);
});

test('leaves out what is below its level', () => {
  const { logger, lines } = logged({ level: 'warn', format: 'json' }, false);
  logger.info({}, 'no');
  logger.error({}, 'yes');
  expect(lines).toHaveLength(1);

  const silent = logged({ level: 'silent', format: 'json' }, false);
  silent.logger.error({}, 'no');
  expect(silent.lines).toEqual([]);
});

test('hides the values of names that are secrets', () => {
  const { logger, lines } = logged({ level: 'info', format: 'json' }, false);

  logger.info({ password: 'hunter2', authorization: 'Bearer abc' }, 'a mistake');

  expect(lines.join('')).not.toMatch(/hunter2|abc/);
  expect(lines.join('')).toContain('[redacted]');
});
