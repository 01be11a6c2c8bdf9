import { parseJson } from './jsonish.js';

/** The objects of a text that is nothing but two or more JSON objects one behind the other; undefined otherwise. */
export function concatenatedJson(text: string): readonly string[] | undefined {
  const objects: string[] = [];
  let depth = 0;
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quoted) {
      if (char === '\\') at += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') {
      quoted = true;
    } else if (char === '{' || char === '[') {
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth < 0) return undefined;
      if (depth === 0) {
        objects.push(text.slice(start, at + 1));
        start = at + 1;
      }
    }
  }
  const whole = depth === 0 && !quoted && text.slice(start).trim() === '' && objects.length > 1;
  return whole && objects.every((object) => parseJson(object) !== undefined) ? objects : undefined;
}
