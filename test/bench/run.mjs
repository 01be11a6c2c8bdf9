// npm run bench: compiles src and test/bench to a directory of its own and prints what the parts and the whole can do.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const out = join(root, '.cache/bench');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const config = {
  extends: '../../tsconfig.json',
  compilerOptions: { noEmit: false, outDir: out, rootDir: root, allowJs: false, sourceMap: false },
  // `src` as a whole: workers are started by its command. Of the other tests, what the bench imports comes with it.
  include: ['../../src', '../../test/bench'],
};
writeFileSync(join(out, 'tsconfig.json'), JSON.stringify(config));
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(out, 'tsconfig.json')], { stdio: 'inherit' });
cpSync(join(root, 'package.json'), join(out, 'package.json'));
cpSync(join(root, 'src/store/migrations'), join(out, 'src/store/migrations'), { recursive: true });
symlinkSync(join(root, 'test/fixtures'), join(out, 'test/fixtures'));
symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'));

const child = spawn(process.execPath, ['--expose-gc', join(out, 'test/bench/main.js'), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
child.on('exit', (code) => process.exit(code ?? 1));
