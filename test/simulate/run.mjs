// npm run simulate: compiles test/simulate to a directory of its own and prints what the estimates and alerts do on made
// streams; with --write it puts the tables into docs/simulation.md.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const out = join(root, '.cache/simulate');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const config = {
  extends: '../../tsconfig.json',
  compilerOptions: { noEmit: false, outDir: out, rootDir: root, allowJs: false, sourceMap: false },
  include: ['../../test/simulate'],
};
writeFileSync(join(out, 'tsconfig.json'), JSON.stringify(config));
writeFileSync(join(out, 'package.json'), '{ "type": "module" }');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(out, 'tsconfig.json')], { stdio: 'inherit' });
symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'));

const child = spawn(process.execPath, [join(out, 'test/simulate/main.js'), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
child.on('exit', (code) => process.exit(code ?? 1));
