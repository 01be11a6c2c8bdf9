import { createHash, timingSafeEqual } from 'node:crypto';

/** Says whether an Authorization header carries one of the tokens. */
export type TokenCheck = (authorization: string | undefined) => boolean;

/**
 * Without tokens everything is allowed. Comparison takes the same time whatever is sent: digests have one length, and
 * all tokens are looked at even after one has matched.
 */
export function tokenCheck(tokens: readonly string[]): TokenCheck {
  if (tokens.length === 0) return () => true;
  const allowed = tokens.map(digest);

  return (authorization) => {
    const given = digest(/^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '');
    let matches = 0;
    for (const token of allowed) matches += timingSafeEqual(token, given) ? 1 : 0;
    return matches > 0;
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
