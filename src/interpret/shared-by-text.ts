/** Longer texts are rarely repeated, and looking one up means to read it whole. */
const MAX_TEXT = 65_536;
/** Characters of text that one generation may hold; each text counts as `ENTRY` more, for what is kept beside it. */
const MAX_CHARS = 1_000_000;
const ENTRY = 100;

/**
 * `read`, remembering what it made of the latest texts: each model call repeats the tools that it is offered and the
 * calls and results before it. What comes back is shared, so it must never be changed.
 *
 * Memory is bounded whatever senders write: two generations of texts are held, and when the younger one is full, the
 * older one, whatever was not asked for since, is forgotten.
 */
export function sharedByText<T>(read: (text: string) => T): (text: string) => T {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  let chars = 0;
  return (text) => {
    const known = young.get(text);
    if (known !== undefined) return known;
    const value = old.get(text) ?? read(text);
    if (text.length > MAX_TEXT) return value;
    chars += text.length + ENTRY;
    if (chars > MAX_CHARS) {
      old = young;
      young = new Map();
      chars = text.length + ENTRY;
    }
    young.set(text, value);
    return value;
  };
}
