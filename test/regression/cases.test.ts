import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createAssembly, finish, step } from '../../src/assemble/assembly.js';
import { buildInteraction } from '../../src/assemble/interaction.js';
import { DEFAULT_ASSEMBLE_RULES } from '../../src/assemble/rules.js';
import { interpret } from '../../src/interpret/interpret.js';
import type { Interaction } from '../../src/model/interaction.js';
import type { Expected } from '../support/expectations.js';
import { compareConversations } from '../support/expectations.js';
import { readFixture } from '../support/fixture.js';
import { decodeSpans } from '../support/interactions.js';

const CASES = new URL('../fixtures/cases/', import.meta.url);

interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at_ms?: number;
}

/** Cases of dialects that are not read yet, and those whose fault lies in HTTP alone. */
const ELSEWHERE = new Set([
  '03-deflate-two-flavours',
  '05-unsupported-media-type',
  '13-null-anyvalue-from-nan-tokens',
  '33-only-first-of-parallel-calls-recorded',
  '34-json-cut-by-attribute-limit',
  '57-middle-of-the-tree-not-exported',
  '69-agent-and-task-spans-that-look-like-models',
]);

function requests(folder: string): readonly Request[] {
  if (!existsSync(new URL(`${folder}/request.json`, CASES))) {
    return [{ headers: { 'content-type': 'application/json' }, body: 'input.otlp.json' }];
  }
  const file = JSON.parse(readFixture(`cases/${folder}/request.json`).toString('utf8')) as { requests: Request[] };
  return file.requests;
}

function contentType(request: Request): string {
  const header = Object.entries(request.headers).find(([name]) => name.toLowerCase() === 'content-type');
  return header?.[1] ?? '';
}

/** The last revision of each interaction when the requests of a case come at their times. */
function replay(folder: string): readonly Interaction[] {
  const state = createAssembly();
  const deps = { build: buildInteraction, interpret };
  const steps = requests(folder).map((request) => {
    const encoding = contentType(request).includes('protobuf') ? 'protobuf' : 'json';
    const spans = decodeSpans(readFixture(`cases/${folder}/${request.body}`), encoding);
    const arrivals = spans.map((span) => ({ span: interpret(span), offset: null }));
    return step(state, arrivals, request.at_ms ?? 0, DEFAULT_ASSEMBLE_RULES, deps);
  });
  const decided = [...steps, finish(state, DEFAULT_ASSEMBLE_RULES, deps)].flatMap((result) => result.decided);
  return [...new Map(decided.map(({ interaction }) => [interaction.interactionId, interaction])).values()];
}

const folders = readdirSync(CASES).filter((name) => /^\d/.test(name) && !ELSEWHERE.has(name));

test.each(folders)('%s', (folder) => {
  const expected = JSON.parse(readFixture(`cases/${folder}/expect.json`).toString('utf8')) as Expected;

  expect(compareConversations(replay(folder), expected)).toEqual([]);
});
