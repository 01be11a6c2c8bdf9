import { defineConfig } from 'vitest/config';

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
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // The embedded engine is one per process, so each file gets a process of its own.
          pool: 'forks',
          fileParallelism: false,
        },
      },
    ],
  },
});
