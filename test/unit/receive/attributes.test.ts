import { expect, test } from 'vitest';
import { AttributesBuilder } from '../../../src/receive/attributes.js';
import { entriesOf } from '../../support/decoding.js';

/** Attributes whose value is the place that was given for it. */
function build(keys: readonly string[]) {
  const builder = new AttributesBuilder(Buffer.alloc(0));
  keys.forEach((key, i) => builder.add(key, i, i));
  return builder.build((_, start) => start, 'json');
}

test('gives right values for more different keys than are ever shared', () => {
  // 1000 sets of 100 keys are 100 000 lists of keys; 65 536 are held at most before sharing starts anew.
  const early = build(['first', 'second']);
  for (let set = 0; set < 1000; set++) {
    const keys = Array.from({ length: 100 }, (_, i) => `set.${set}.key.${i}`);
    const attributes = build(keys);

    expect(attributes.get(`set.${set}.key.99`)).toBe(99);
    expect(attributes.size).toBe(100);
  }

  expect(entriesOf(early)).toEqual([
    ['first', 0],
    ['second', 1],
  ]);
});

test('keeps the sets of a request apart when their positions fill more than one table', () => {
  const builder = AttributesBuilder.ofRequest(Buffer.alloc(0));
  const sets = Array.from({ length: 50 }, (_, set) => {
    builder.begin();
    // A span that is refused leaves its attributes behind, unbuilt.
    builder.add('of a refused span', 1, 1);
    builder.begin();
    for (let i = 0; i <= set; i++) builder.add(`key.${i}`, 100 * set + i, 0);
    return builder.build((_, start) => start, 'protobuf');
  });

  for (const [set, attributes] of sets.entries()) {
    expect(entriesOf(attributes)).toEqual(Array.from({ length: set + 1 }, (_, i) => [`key.${i}`, 100 * set + i]));
  }
});

test('finds a value whatever was asked for before', () => {
  const attributes = build(['a', 'b', 'c', 'a']);

  expect(['c', 'a', 'x', 'b', 'b', 'c', 'a'].map((key) => attributes.get(key))).toEqual([2, 3, undefined, 1, 1, 2, 3]);
});

test('holds nothing when nothing was added', () => {
  const attributes = build([]);

  expect([attributes.size, attributes.has(''), attributes.get(''), attributes.keys()]).toEqual([
    0,
    false,
    undefined,
    [],
  ]);
});

test('tells equal values by their bytes, apart for each encoding', () => {
  const place = (key: string, text: string, encoding: 'json' | 'protobuf') => {
    const builder = new AttributesBuilder(Buffer.from(text));
    builder.add(key, 0, text.length);
    builder.add('without a value', -1, -1);
    return builder.build(() => null, encoding);
  };
  const attributes = place('a', '["x"]', 'json');

  expect(attributes.encoded?.('a')).toBe(place('b', '["x"]', 'json').encoded?.('b'));
  expect(attributes.encoded?.('a')).not.toBe(place('a', '["y"]', 'json').encoded?.('a'));
  expect(attributes.encoded?.('a')).not.toBe(place('a', '["x"]', 'protobuf').encoded?.('a'));
  expect([attributes.encoded?.('without a value'), attributes.encoded?.('absent')]).toEqual([undefined, undefined]);
});
