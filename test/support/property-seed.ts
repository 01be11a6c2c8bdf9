/**
 * Properties draw the same inputs in every run, so that a failing test is a change's own. To look for new
 * counterexamples, give another seed: `TRACEGRADE_TEST_SEED=7 npx vitest run --project unit test/property`.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['TRACEGRADE_TEST_SEED'] ?? 1) });
