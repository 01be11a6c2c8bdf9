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

/** Begins a longer text that says the same. */
const SCRUBBED = '[Scrubbed due to ';

const LONGEST = 20;

/** Nearly every text begins with none of these, and a look at one character is cheaper than a trimmed copy of all. */
const FIRST_CHARACTERS = new Set([...PLACEHOLDERS, SCRUBBED].map((text) => text.charAt(0)));

/** A blank text, or one that only says that there is no value. */
export function isPlaceholder(text: string): boolean {
  if (!FIRST_CHARACTERS.has(text.charAt(0).trim().toLowerCase())) return false;
  if (text.length > LONGEST) return text.trim() === '' || text.startsWith(SCRUBBED);
  return PLACEHOLDERS.has(text.trim().toLowerCase());
}

/** A call id, trimmed; undefined for a blank one, a placeholder, or the `unknown` that some recorders write. */
export function callId(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return undefined;
  const id = value.trim();
  return isPlaceholder(id) || id.toLowerCase() === 'unknown' ? undefined : id;
}
