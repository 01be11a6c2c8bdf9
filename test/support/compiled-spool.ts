import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * A directory inside node_modules, where packages resolve, with `spool-lmdb.js` (the spool, compiled) and `child.mjs`
 * (the given script): what a process of its own needs.
 */
export function childScript(script: string): { readonly path: string; remove(): void } {
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const dir = mkdtempSync(join(ROOT, 'node_modules/.cache/spool-child-'));
  for (const name of ['spool-lmdb', 'spool-files']) {
    const source = readFileSync(join(ROOT, `src/receive/${name}.ts`), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true },
    });
    writeFileSync(join(dir, `${name}.js`), outputText);
  }
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(dir, 'child.mjs'), script);
  return { path: join(dir, 'child.mjs'), remove: () => rmSync(dir, { recursive: true, force: true }) };
}
