import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { openStore } from '../../../src/store/clickhouse.js';
import { ownerOf } from '../../../src/store/engine.js';
import { EngineMissingError, StoreBusyError } from '../../../src/store/errors.js';
import { ENGINE_DEPS, graded, temporaryDir, turn, WRITER_DEPS } from '../../support/store.js';

function config(dataDir: string) {
  return { url: 'embedded', database: 'tracegrade', dataDir };
}

/** Another process that opens the directory, says so, and lives until it is killed; `busy` when it could not open it. */
async function otherProcess(dataDir: string): Promise<{ child: ChildProcess; said: string }> {
  const script = `
    import { createClient } from '@clickhouse/client';
    import { createChdbConnection } from 'chdb/connection';
    try {
      const client = createClient({ connection: createChdbConnection({ path: process.argv[1] }) });
      await client.ping();
      process.stdout.write('open');
      setInterval(() => {}, 1000);
    } catch { process.stdout.write('busy'); }`;
  const args = ['--input-type=module', '--eval', script, join(dataDir, 'clickhouse')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, said: said.toString() };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

test('a directory that another process has open is refused, naming that process, and free once it was killed', async () => {
  const dataDir = temporaryDir();
  const { child } = await otherProcess(dataDir);

  const error: unknown = await openStore(config(dataDir), ENGINE_DEPS).catch((reason: unknown) => reason);
  await kill(child);
  const left = await ownerOf(dataDir);
  const store = await openStore(config(dataDir), ENGINE_DEPS);
  const answers = await store.ping();
  await store.close();

  expect(error).toBeInstanceOf(StoreBusyError);
  expect((error as StoreBusyError).owner).toMatchObject({ pid: child.pid });
  expect((error as StoreBusyError).message).toContain(`in use by process ${child.pid}`);
  expect(left).toMatchObject({ pid: child.pid });
  expect(answers).toBeNull();
  expect(await ownerOf(dataDir)).toBeNull();
});

test('of two processes that open it at once one has it', async () => {
  const dataDir = temporaryDir();

  const both = await Promise.all([otherProcess(dataDir), otherProcess(dataDir)]);

  expect(both.map(({ said }) => said).sort()).toEqual(['busy', 'open']);
});

test('the process that has it open keeps others out until it closes it', async () => {
  const dataDir = temporaryDir();
  const store = await openStore(config(dataDir), ENGINE_DEPS);

  const during = await otherProcess(dataDir);
  const owner = await ownerOf(dataDir);
  await store.close();
  const after = await otherProcess(dataDir);

  expect([during.said, after.said]).toEqual(['busy', 'open']);
  expect(owner).toMatchObject({ pid: process.pid });
});

test('what was stored is there when it is opened again, and another directory can follow', async () => {
  const dataDir = temporaryDir();
  const first = await openStore(config(dataDir), ENGINE_DEPS);
  await first.migrate();
  const writer = first.writer(WRITER_DEPS);
  const written = writer.write(graded(turn({ trace: 1 })));
  await writer.close({ drainMs: 10_000 });
  await first.close();

  const elsewhere = await openStore(config(temporaryDir()), ENGINE_DEPS);
  const empty = await elsewhere.migrate();
  await elsewhere.close();
  const again = await openStore(config(dataDir), ENGINE_DEPS);
  const report = await again.migrate();
  const rows = await again.rows('SELECT count() AS n FROM {db}.verdicts_current');
  await again.close();

  expect((await written).status).toBe('ok');
  expect(empty.applied).not.toEqual([]);
  expect(report.applied).toEqual([]);
  expect(rows).toEqual([{ n: 1 }]);
});

test('without the package the error says what to install or to set', async () => {
  const dataDir = temporaryDir();
  const loadEngine = () => Promise.reject(new Error("Cannot find package 'chdb'"));

  const error: unknown = await openStore(config(dataDir), { ...ENGINE_DEPS, loadEngine }).catch(
    (reason: unknown) => reason,
  );

  expect(error).toBeInstanceOf(EngineMissingError);
  expect((error as Error).message).toMatch(/npm install chdb.*store\.url/);
  expect(readdirSync(dataDir)).toEqual([]);
});
