import { defineConfig } from 'vitest/config';

// Files of these projects run side by side: those on Kafka wait for brokers, stores and time more than they compute.
const BESIDE_KAFKA = { maxWorkers: 3, sequence: { groupOrder: 1 } };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{unit,property,fuzz,regression}/**/*.test.ts'],
          setupFiles: ['test/support/property-seed.ts'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: ['test/integration/kafka/**'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // The embedded engine is one per process, so each file gets a process of its own.
          pool: 'forks',
          ...BESIDE_KAFKA,
        },
      },
      {
        test: {
          name: 'clickhouse',
          // What the store promises, once more through the client over HTTP.
          include: ['test/integration/store/{estimate-tables,judge-answers,migrate,query,views,writer}.test.ts'],
          globalSetup: ['test/support/clickhouse-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          pool: 'forks',
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'kafka',
          include: ['test/integration/kafka/**/*.test.ts'],
          globalSetup: ['test/support/kafka-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          pool: 'forks',
          ...BESIDE_KAFKA,
        },
      },
    ],
  },
});
