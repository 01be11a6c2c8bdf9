import { expect, test } from 'vitest';
import { sharedByText } from '../../../src/interpret/shared-by-text.js';

/** A reader of texts, and the texts that it had to read. */
function recording(maxChars: number) {
  const texts: string[] = [];
  const read = sharedByText(maxChars, (text) => {
    texts.push(text);
    return { text };
  });
  return { read, texts };
}

test('reads equal texts once and gives the same value', () => {
  const { read, texts } = recording(1_000);

  expect(read('a')).toBe(read('a'));
  expect(read('b')).toEqual({ text: 'b' });
  expect(texts).toEqual(['a', 'b']);
});

test('forgets what was not asked for while two generations filled up, and keeps what was', () => {
  const { read, texts } = recording(1_000);
  const kept = read('kept');
  read('left');

  // A text counts its characters and 100 more, so about ten fill a generation.
  for (let at = 0; at < 40; at += 1) {
    read(`other ${at}`);
    read('kept');
  }

  expect(read('kept')).toBe(kept);
  read('left');
  expect(texts.filter((text) => text === 'left')).toHaveLength(2);
});

test('remembers no text that is longer than any that repeats', () => {
  const { read, texts } = recording(1_000_000);
  const long = 'x'.repeat(65_537);

  read(long);
  read(long);
  expect(texts).toEqual([long, long]);
});
