// The crash tests: processes are killed, and then each interaction has to be in the store once, as it was sent.
//
//   npm run test:crash -- [--long] [--kills N] [--interactions N] [--seed 1] [--only spool|kafka] [--patience 1]
//
// Two parts, spool.mjs and kafka.mjs. `--kills` and `--interactions` stand for both; `--patience` multiplies how long
// the workers of the second wait for spans, for a machine that stands still at times.
import { parseArgs } from 'node:util';

import { cleanUp } from './cleanup.mjs';
import { crashOnKafka } from './kafka.mjs';
import { crashOnSpool } from './spool.mjs';

const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    kills: { type: 'string' },
    interactions: { type: 'string' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    patience: { type: 'string', default: '1' },
  },
});
const number = (given, short, long) => Number(given ?? (values.long ? long : short));
const seed = Number(values.seed);

const parts = {
  spool: () =>
    crashOnSpool({
      kills: number(values.kills, 4, 20),
      interactions: number(values.interactions, 3_000, 10_000),
      seed,
    }),
  kafka: () =>
    crashOnKafka({
      kills: number(values.kills, 4, 20),
      interactions: number(values.interactions, 3_000, 20_000),
      perSecond: values.long ? 80 : 120,
      seed,
      // Each so often.
      others: values.long ? 3 : 1,
      patience: Number(values.patience),
    }),
};

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => void cleanUp().then(() => process.exit(130)));
}
try {
  for (const [name, part] of Object.entries(parts)) if (values.only === undefined || values.only === name) await part();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}
