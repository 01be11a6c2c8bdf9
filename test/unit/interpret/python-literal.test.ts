import { expect, test } from 'vitest';
import { pythonLiteral } from '../../../src/interpret/python-literal.js';

// Left: repr() as CPython 3.11 prints it.
test.each([
  [`{'city': 'Lindholm', 'n': 14, 'ok': True, 'no': None}`, { city: 'Lindholm', n: 14, ok: true, no: null }],
  [`[1, -2.5, 1e-07, (1, 2), (3,), ()]`, [1, -2.5, 1e-7, [1, 2], [3], []]],
  [`"it's \\"quoted\\""`, `it's "quoted"`],
  [`'a\\nb\\t\\\\ \\x41 \\u00e9 \\U0001f389'`, 'a\nb\t\\ A é 🎉'],
  [`{1: 'one', 'nested': {'a': []}}`, { '1': 'one', nested: { a: [] } }],
  [`9007199254740993`, '9007199254740993'],
  [`False`, false],
])('reads %s', (text, value) => {
  expect(pythonLiteral(text)).toEqual(value);
});

test.each([
  `ChatMessage(role='user')`,
  `{'a', 'b'}`,
  `b'bytes'`,
  `nan`,
  `{'a': <object at 0x7f>}`,
  `{'a': 1`,
  `{'a': 1} trailing`,
  `'open`,
  `datetime.date(2031, 6, 5)`,
  ``,
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
])('leaves %j to be text', (text) => {
  expect(pythonLiteral(text)).toBeUndefined();
});
