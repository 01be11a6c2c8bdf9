import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Is what listens on `host` out of reach for other machines? True for 127.0.0.0/8 (also mapped into IPv6), ::1 (also
 * in brackets) and `localhost`; false for every other name, because only the resolver knows where it leads.
 */
export function isLoopbackHost(host: string): boolean {
  const bare = withoutBrackets(host);
  if (bare.toLowerCase() === 'localhost') return true;
  const version = isIP(bare);
  return version !== 0 && LOOPBACK.check(bare, version === 4 ? 'ipv4' : 'ipv6');
}

/** `[::1]`, as it stands in URLs, is `::1` for sockets. */
export function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
