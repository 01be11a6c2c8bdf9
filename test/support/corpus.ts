import { readdirSync } from 'node:fs';
import type { Span } from '../../src/model/span.js';
import type { Expected, Field } from './expectations.js';
import { differences } from './expectations.js';
import { readFixture } from './fixture.js';
import { decodeSpans, interactionsOf } from './interactions.js';

const CORPUS = new URL('../fixtures/corpus/', import.meta.url);

/** Folders whose dialects are read whole; the others are read as far as generic reading goes. */
export function isWhole(folder: string): boolean {
  return /^(?:genai-|openinference-|vercel-ai-|otel-openai$|openai-v2-events$)/.test(folder);
}

export function corpusFolders(): readonly string[] {
  return readdirSync(CORPUS).sort();
}

/** Scenarios of a folder that have an expectation. */
export function scenarios(folder: string): readonly string[] {
  return readdirSync(new URL(`${folder}/`, CORPUS))
    .filter((name) => name.endsWith('.expect.json'))
    .map((name) => name.slice(0, -'.expect.json'.length))
    .sort();
}

export function corpusSpans(folder: string, scenario: string): readonly Span[] {
  return decodeSpans(readFixture(`corpus/${folder}/${scenario}.otlp.json`), 'json');
}

export function corpusExpected(folder: string, scenario: string): Expected {
  return JSON.parse(readFixture(`corpus/${folder}/${scenario}.expect.json`).toString('utf8')) as Expected;
}

const FIELDS: readonly Field[] = ['count', 'query', 'answer', 'tools', 'conversation', 'agent', 'model'];

/** How many scenarios of each folder are right in each field, as a table of text. */
export function corpusTable(folders: readonly string[]): string {
  const lines = [`| folder | ${FIELDS.join(' | ')} |`, `|---|${FIELDS.map(() => '---|').join('')}`];
  for (const folder of folders) {
    const names = scenarios(folder);
    const wrong = names.map(
      (name) =>
        new Set(
          differences(interactionsOf(corpusSpans(folder, name)), corpusExpected(folder, name)).map((d) => d.field),
        ),
    );
    // What was not found is right in nothing.
    const isRight = (fields: ReadonlySet<Field>, field: Field) => !fields.has(field) && !fields.has('count');
    const right = FIELDS.map((field) => `${wrong.filter((fields) => isRight(fields, field)).length}/${names.length}`);
    lines.push(`| ${folder} | ${right.join(' | ')} |`);
  }
  return lines.join('\n');
}
