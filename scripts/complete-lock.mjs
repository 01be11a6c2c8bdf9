// npm leaves optional packages of other platforms out of package-lock.json when the registry that it asks does not serve
// them, and then refuses the file in `npm ci`. This puts them back. Run it after every `npm install`.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const engine = lock.packages['node_modules/@chdb/lib-linux-x64-gnu'].version;

const left = {
  '@chdb/lib-darwin-arm64': { version: engine, cpu: ['arm64'], os: ['darwin'] },
  '@chdb/lib-darwin-x64': { version: engine, cpu: ['x64'], os: ['darwin'] },
  '@chdb/lib-linux-arm64-gnu': { version: engine, cpu: ['arm64'], libc: ['glibc'], os: ['linux'] },
  'napi-windows-process-start-time': { version: '0.1.0', dev: true, os: ['win32'] },
};
for (const [name, entry] of Object.entries(left))
  lock.packages[`node_modules/${name}`] ??= { ...entry, optional: true };
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
