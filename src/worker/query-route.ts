import { z } from 'zod';
import type { HttpAnswer, PostRequest, PostRoute } from '../receive/otlp-http.js';
import type { Store } from '../store/clickhouse.js';

// Queries and the spool's commits share libuv's four threads: two are left for the spool, whatever is asked.
const MAX_QUERIES = 2;
const QUERY_LIMITS = { maxSeconds: 30, maxRows: 100_000, maxBytes: 32 * 1024 * 1024 };

/** `POST /query`: the body is SQL, or as `application/json` `{"query": SQL, "format": NAME}`. It can only read. */
export function queryRoute(store: Store): PostRoute {
  let running = 0;
  return async ({ body, mediaType }: PostRequest): Promise<HttpAnswer> => {
    if (running >= MAX_QUERIES) return text(503, 'busy with other queries; try again\n');
    const asked = readQuery(Buffer.from(body).toString('utf8'), mediaType);
    if (asked === null || asked.query.includes('\0')) return text(400, '{"query": SQL, "format": NAME} expected\n');
    running += 1;
    try {
      return await answer(store, asked.query, asked.options);
    } finally {
      running -= 1;
    }
  };
}

async function answer(store: Store, sql: string, options: { format?: string }): Promise<HttpAnswer> {
  const outcome = await store.query(sql, { ...QUERY_LIMITS, ...options });
  if (outcome.status === 'refused') return text(400, `${outcome.type} (${outcome.code}): ${outcome.message}\n`);
  if (outcome.status === 'failed') return text(503, 'the store does not answer\n');
  const chunks: Buffer[] = [];
  for await (const chunk of outcome.body) chunks.push(Buffer.from(chunk));
  return { status: 200, contentType: 'text/plain; charset=utf-8', body: Buffer.concat(chunks) };
}

const queryBody = z.object({ query: z.string(), format: z.string().regex(/^\w+$/).optional() });

function readQuery(body: string, mediaType: string): { query: string; options: { format?: string } } | null {
  if (mediaType !== 'application/json') return { query: body, options: {} };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  const { success, data } = queryBody.safeParse(value);
  if (!success) return null;
  return { query: data.query, options: data.format === undefined ? {} : { format: data.format } };
}

function text(status: number, body: string): HttpAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}
