import { expect, test } from 'vitest';
import { indexedAttributes } from '../../../src/interpret/indexed-attributes.js';
import { interpret } from '../../../src/interpret/interpret.js';
import type { Json } from '../../../src/model/json.js';
import { otlpSpan } from '../../support/otlp-json.js';

function elements(values: Record<string, Json>, prefix = 'm') {
  return indexedAttributes(otlpSpan(values).attributes, prefix).elements.map((members) => Object.fromEntries(members));
}

test('sorts by number, from any start, across gaps', () => {
  expect(elements({ 'm.10.a': 'last', 'm.1.a': 'first', 'm.1.b.c': 'more', 'm.3.a': 'second' })).toEqual([
    { a: 'first', 'b.c': 'more' },
    { a: 'second' },
    { a: 'last' },
  ]);
});

test('leaves other keys alone', () => {
  expect(elements({ m: 'x', 'm.a.1': 'x', 'mm.1.a': 'x', 'm.1': 'x', 'm.-1.a': 'x', 'm.1e3.a': 'x' })).toEqual([]);
});

test('allocates nothing for a huge index', () => {
  const bomb = elements({ 'm.4294967290.a': 'x', 'm.999999999999999.a': 'y', 'm.0.b.99999999.c': 'z' });

  expect(bomb).toEqual([{ 'b.99999999.c': 'z' }, { a: 'x' }, { a: 'y' }]);
});

test('stops at ten thousand elements and says that the list is not whole', () => {
  const values = Object.fromEntries(Array.from({ length: 10_050 }, (_, at) => [`m.${at}.a`, at]));
  const list = indexedAttributes(otlpSpan(values).attributes, 'm');

  expect(list.elements.length).toBe(10_000);
  expect(list.capped).toBe(true);
});

test('drops segments that could reach a prototype', () => {
  expect(elements({ 'm.0.__proto__.polluted': 'x', 'm.0.constructor.a': 'x', 'm.0.a': 'kept' })).toEqual([
    { a: 'kept' },
  ]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('reads messages of a span whose indexes are a bomb', () => {
  const span = interpret(
    otlpSpan({
      'openinference.span.kind': 'LLM',
      'llm.input_messages.4294967290.message.role': 'user',
      'llm.input_messages.4294967290.message.content': 'hello',
      'llm.input_messages.4294967290.message.tool_calls.4294967290.tool_call.function.name': 'get_weather',
    }),
  );

  const messages = span.read('inputMessages')?.value.messages;
  expect(messages?.map((message) => message.parts.map((part) => part.type))).toEqual([['text', 'tool_call']]);
});

test('finds lists within elements, for each span its own values', () => {
  const lists = ['first', 'second'].map((value) => {
    const [element] = indexedAttributes(
      otlpSpan({ 'm.0.c.2.a': value, 'm.0.c.1.a': 1, 'm.0.b': null }).attributes,
      'm',
    ).elements;
    return [element?.list('c').elements.map((call) => call.get('a')), element?.get('b'), element?.get('absent')];
  });

  expect(lists).toEqual([
    [[1, 'first'], null, undefined],
    [[1, 'second'], null, undefined],
  ]);
});
