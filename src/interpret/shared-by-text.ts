/** Longer texts are rarely repeated, and looking one up means to read it whole. */
const MAX_TEXT = 65_536;
/** What a remembered text counts beside its own characters, for what is kept with it. */
const ENTRY = 100;

/**
 * `read`, remembering what it made of the latest texts: each model call repeats the tools that it is offered, and the
 * calls and results before it. What comes back is shared, so it must never be changed, and must follow from the text
 * alone: `more` only helps to read it.
 *
 * Memory is bounded whatever senders write: two generations of `maxChars` characters are held, and when the younger
 * one is full, the older one is forgotten, but for what was asked for since.
 */
export function sharedByText<T, A extends readonly unknown[]>(
  maxChars: number,
  read: (text: string, ...more: A) => T,
): (text: string, ...more: A) => T {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  let chars = 0;
  return (text, ...more) => {
    const known = young.get(text);
    if (known !== undefined) return known;
    const value = old.get(text) ?? read(text, ...more);
    if (text.length > MAX_TEXT) return value;
    if (chars > maxChars) {
      old = young;
      young = new Map();
      chars = 0;
    }
    chars += text.length + ENTRY;
    young.set(text, value);
    return value;
  };
}

/** For what only the calls of one interaction repeat: enough for a long one, and too few to be worth collecting. */
export const WITHIN_A_TURN = 100_000;
/** For what all calls of an agent repeat. */
export const WITHIN_AN_AGENT = 1_000_000;
