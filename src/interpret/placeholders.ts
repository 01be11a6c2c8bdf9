/** What instrumentations write where they have, or may show, no value. Compared without regard to case. */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  '',
  '<redacted>',
  '__redacted__',
  '[redacted]',
  '<not specified>',
  '<not serializable>',
  '<elided>',
  'n/a',
  'filtered',
  '[filtered]',
]);

const LONGEST = 20;

/** Nearly every text begins with none of these, and a look at one character is cheaper than a trimmed copy. */
const FIRST_OF_ONE = /^[\s<_[nf]/i;

/** A blank text, or one that only says that there is no value. */
export function isPlaceholder(text: string): boolean {
  if (text !== '' && !FIRST_OF_ONE.test(text)) return false;
  if (text.length > LONGEST) return text.trim() === '' || text.startsWith('[Scrubbed due to ');
  return PLACEHOLDERS.has(text.trim().toLowerCase());
}

/** A call id, trimmed; undefined for a blank one, a placeholder, or the `unknown` that some recorders write. */
export function callId(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return undefined;
  const id = value.trim();
  return isPlaceholder(id) || id.toLowerCase() === 'unknown' ? undefined : id;
}
