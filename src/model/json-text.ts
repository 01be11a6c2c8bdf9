/** What a recorder that shortens values puts behind what it kept. */
const CUT_MARK = /(?:\.\.\.|…|\[truncated\]|<truncated>|\(truncated\))+\s*$/i;

/** A mark that says so in words; dots alone may be the author's. */
const SAID_CUT = /(?:\[truncated\]|<truncated>|\(truncated\))\s*$/i;

/** Does a recorder's mark at the end say that the text was cut? */
export function saysCut(text: string): boolean {
  return SAID_CUT.test(text);
}

const enum State {
  Value,
  /** Behind `[` or `{`: a value (a key), or the end of the empty container. */
  First,
  Key,
  Colon,
  /** Behind a complete value inside a container. */
  Next,
  End,
}

const NUMBER_PREFIX = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?\d*)?)?$/;
const LITERALS = ['true', 'false', 'null'];

/**
 * Was this text JSON before a recorder cut it? True for a proper prefix of an object, an array or a string, also
 * with a recorder's mark (`...`, `[truncated]`) at its end, and for anything that says in words that it was cut; false
 * for whole JSON and for anything else.
 */
export function isCutJson(text: string): boolean {
  if (saysCut(text)) return true;
  const trimmed = text.trimStart();
  const first = trimmed.charCodeAt(0);
  if (first !== 0x7b /* { */ && first !== 0x5b /* [ */ && first !== 0x22 /* " */) return false;
  if (endsEarly(trimmed)) return true;
  const mark = CUT_MARK.exec(trimmed);
  return mark !== null && endsEarly(trimmed.slice(0, mark.index));
}

/** Walks the grammar of RFC 8259 and says whether the text ends before its value does. */
function endsEarly(text: string): boolean {
  const open: number[] = [];
  let state: State = State.Value;
  let at = 0;
  const afterValue = (): State => (open.length === 0 ? State.End : State.Next);
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) {
      at += 1;
      continue;
    }
    if (state === State.End) return false;
    const inObject = open[open.length - 1] === 0x7d;
    if (state === State.Colon) {
      if (code !== 0x3a) return false;
      state = State.Value;
      at += 1;
    } else if (state === State.Next) {
      if (code === 0x2c) state = inObject ? State.Key : State.Value;
      else if (code === open[open.length - 1]) {
        open.pop();
        state = afterValue();
      } else return false;
      at += 1;
    } else if (state === State.First && code === open[open.length - 1]) {
      open.pop();
      state = afterValue();
      at += 1;
    } else if (state === State.Key || (state === State.First && inObject)) {
      if (code !== 0x22) return false;
      at = endOfString(text, at);
      if (at < 0) return true;
      state = State.Colon;
    } else if (code === 0x22) {
      at = endOfString(text, at);
      if (at < 0) return true;
      state = afterValue();
    } else if (code === 0x7b || code === 0x5b) {
      open.push(code === 0x7b ? 0x7d : 0x5d);
      state = State.First;
      at += 1;
    } else {
      let end = at;
      while (end < text.length && /[\w.+-]/.test(text[end] as string)) end += 1;
      const word = text.slice(at, end);
      if (word === '') return false;
      const complete = end < text.length;
      if (NUMBER_PREFIX.test(word)) {
        if (complete && !/\d$/.test(word)) return false;
      } else if (complete ? !LITERALS.includes(word) : !LITERALS.some((literal) => literal.startsWith(word))) {
        return false;
      }
      at = end;
      state = afterValue();
    }
  }
  return state !== State.End;
}

/** Index behind the closing quote of the string that opens at `at`; -1 when it does not close. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  for (;;) {
    const quote = text.indexOf('"', end);
    if (quote < 0) return -1;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes += 1;
    end = quote + 1;
    if (slashes % 2 === 0) return end;
  }
}
