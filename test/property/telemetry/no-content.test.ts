import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Rejection } from '../../../src/model/rejection.js';
import { telemetryProbe } from '../../support/telemetry.js';

/** Two words, as names and codes of errors never are. */
const MARK = 'secret seven';

/** Content that would be recognised anywhere; it may hold quotation marks and line ends of its own. */
const content = fc
  .tuple(fc.string({ maxLength: 20 }), fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' }))
  .map(([before, after]) => `${before}${MARK}${after}`);

/** Texts as parsers and stores write them: with what they could not read in quotation marks. */
const quoting = fc.constantFrom<(text: string) => string>(
  (text) => `Cannot parse input: expected '"' before: '${text}'`,
  (text) => `Unexpected token in JSON: "${text}" is not valid JSON`,
  (text) => `Code: 27. DB::Exception: Cannot parse ${'`'}${text}${'`'}: (at row 1)`,
  (text) => `first line\n${text}`,
  (text) => `value “${text}” is out of range`,
);

test('no event lets quoted content into the log or the metrics', async () => {
  await fc.assert(
    fc.asyncProperty(content, quoting, fc.boolean(), async (text, quote, asCause) => {
      const { events, registry, text: log } = telemetryProbe();
      const raw = Object.assign(new Error(quote(text)), { code: text, type: text, name: text });
      const error = asCause ? new Error('write failed', { cause: raw }) : raw;
      const rejection: Rejection = { reason: 'malformed_span', detail: quote(text), spans: 1 };

      events.workerFailed(error);
      events.requestFailed({ cause: error });
      events.requestFailed({ cause: text });
      events.spanRejected(rejection);
      events.batchRetried({ table: 'interactions', rows: 1, attempt: 1, error });
      events.rowRejected({ table: 'interactions', error });
      events.storeUnavailable(error);
      events.leniencyUsed(text);

      expect(log()).toContain('workerFailed');
      expect(log()).not.toContain(MARK);
      expect(await registry.metrics()).not.toContain(MARK);
    }),
    { numRuns: 60 },
  );
});
