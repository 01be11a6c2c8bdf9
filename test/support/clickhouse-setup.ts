import type { TestProject } from 'vitest/node';

import { createClickHouse } from './clickhouse-http.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of the ClickHouse that the project's tests share, with user and password where it has any. */
    clickhouse: string;
  }
}

/**
 * One ClickHouse for the whole project: the server at `TRACEGRADE_TEST_CLICKHOUSE_URL` (`http://user:password@host:8123`;
 * its user may make databases), else the embedded engine behind ClickHouse's HTTP protocol.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TRACEGRADE_TEST_CLICKHOUSE_URL'];
  if (given) {
    project.provide('clickhouse', given);
    return undefined;
  }
  const clickhouse = await createClickHouse();
  await clickhouse.start();
  project.provide('clickhouse', clickhouse.url);
  return () => clickhouse.remove();
}
