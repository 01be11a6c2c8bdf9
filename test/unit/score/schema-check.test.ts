import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/model/json.js';
import { checkSchema } from '../../../src/score/schema-check.js';

const kind = (schema: Json, value: Json) => checkSchema(schema, value).kind;

describe('drafts', () => {
  test('draft-07 unless $schema says otherwise', () => {
    const tuple = { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] };

    expect(kind(tuple, ['a', 'b'])).toBe('invalid');
    expect(kind({ $schema: 'http://json-schema.org/draft-07/schema#', ...tuple }, ['a', 1])).toBe('valid');
  });

  test('2019-09 and 2020-12 by $schema', () => {
    const prefixed = { type: 'array', prefixItems: [{ type: 'string' }], items: false };

    expect(kind({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...prefixed }, ['a', 'b'])).toBe('invalid');
    const dependent = { dependentRequired: { a: ['b'] } };
    expect(kind({ $schema: 'https://json-schema.org/draft/2019-09/schema', ...dependent }, { a: 1 })).toBe('invalid');
  });

  test('two tools may have schemas with one $id', () => {
    expect(kind({ $id: 'tool', type: 'object', required: ['a'] }, {})).toBe('invalid');
    expect(kind({ $id: 'tool', type: 'object', required: ['b'] }, { b: 1 })).toBe('valid');
  });

  test('keys that objects inherit are not there', () => {
    expect(kind({ type: 'object', required: ['toString'] }, {})).toBe('invalid');
  });
});

describe('formats', () => {
  const format = (name: string, value: string) => kind({ type: 'string', format: name }, value);

  test('a date that is none is invalid; a time without a zone is fine', () => {
    expect(format('date', 'tomorrow')).toBe('invalid');
    expect(format('date-time', '2026-11-30T10:00:00')).toBe('valid');
    expect(format('date-time', 'noon')).toBe('invalid');
    expect(format('email', 'nobody')).toBe('invalid');
  });

  test('a format that nobody knows objects to nothing', () => {
    expect(format('zip-code', 'anything')).toBe('valid');
  });
});

describe('a schema that cannot be used is unknown, and nothing throws', () => {
  test.each<[string, Json]>([
    ['no object', true],
    ['invalid', { type: 'objekt' }],
    ['a remote reference', { $ref: 'https://example.com/schema.json' }],
    ['a reference to nothing', { $ref: '#/definitions/none' }],
    ['endless', { $ref: '#' }],
    ['a keyword that needs another', { nullable: true }],
    ['longer than the bound', { type: 'object', description: 'x'.repeat(70_000) }],
  ])('%s', (_name, schema) => {
    expect(kind(schema, { a: 1 })).toBe('unknown');
  });

  test('deeper than the stack', () => {
    let schema: Json = { type: 'string' };
    for (let i = 0; i < 20_000; i += 1) schema = { not: schema };

    expect(kind(schema, 'a')).toBe('unknown');
  });

  test('references that double at every step end within the bound', () => {
    const definitions: Record<string, Json> = { last: { type: 'string' } };
    for (let i = 0; i < 60; i += 1) {
      const next = { $ref: `#/definitions/${i === 59 ? 'last' : `d${i + 1}`}` };
      definitions[`d${i}`] = { allOf: [next, next] };
    }

    expect(kind({ definitions, $ref: '#/definitions/d0' }, 'a')).toBe('unknown');
  });

  test('a tree that refers to itself is checked', () => {
    const tree = {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    };

    expect(kind(tree, { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] })).toBe('valid');
    expect(kind(tree, { name: 'a', children: [{ name: 'b', children: [{ name: 3 }] }] })).toBe('invalid');
  });

  test('code in $id is not run', () => {
    const marked = globalThis as { ranFromSchema?: boolean };

    kind({ $id: '*/globalThis.ranFromSchema=true;/*', type: 'string' }, 'a');

    expect(marked.ranFromSchema).toBeUndefined();
  });
});

describe('patterns', () => {
  const RUNAWAY = '^(a+)+$';

  test('an ordinary pattern is checked', () => {
    expect(kind({ type: 'string', pattern: '^[A-Z]{3}-\\d+$' }, 'abc-1')).toBe('invalid');
    expect(kind({ type: 'string', pattern: '^[A-Z]{3}-\\d+$' }, 'ABC-1')).toBe('valid');
  });

  test('one that may run away is passed over, and the rest of the schema still holds', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: RUNAWAY } }, required: ['a', 'b'] };

    expect(kind(schema, { a: `${'a'.repeat(50)}!`, b: 1 })).toBe('valid');
    expect(kind(schema, { a: 'a' })).toBe('invalid');
  });

  test('where passing over could object, the schema is unknown', () => {
    expect(kind({ not: { pattern: RUNAWAY } }, 'b')).toBe('unknown');
    expect(kind({ patternProperties: { [RUNAWAY]: { type: 'string' } } }, { b: 1 })).toBe('unknown');
  });

  test('a pattern of another language is passed over', () => {
    expect(kind({ type: 'string', pattern: '(?P<year>\\d{4})' }, 'x')).toBe('valid');
  });
});

test('many items are told apart without comparing every pair', () => {
  const items = Array.from({ length: 50_000 }, (_, i) => ({ i }));

  expect(kind({ type: 'array', uniqueItems: true }, items)).toBe('valid');
  expect(kind({ type: 'array', uniqueItems: true }, [...items, { i: 7 }])).toBe('invalid');
});
