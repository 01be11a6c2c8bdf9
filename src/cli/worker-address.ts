import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the worker that owns a data directory answers, written down so that other commands find it. */
export interface WorkerAddress {
  readonly pid: number;
  readonly host: string;
  readonly port: number;
}

const fileIn = (dataDir: string) => join(dataDir, 'worker.json');

export async function writeWorkerAddress(dataDir: string, address: WorkerAddress): Promise<void> {
  await writeFile(fileIn(dataDir), `${JSON.stringify(address)}\n`);
}

export async function removeWorkerAddress(dataDir: string): Promise<void> {
  await rm(fileIn(dataDir), { force: true });
}

/** null when no worker has it, as far as the directory says; a killed worker's note is told by its process. */
export async function readWorkerAddress(
  dataDir: string,
  isAlive: (pid: number) => boolean,
): Promise<WorkerAddress | null> {
  try {
    const { pid, host, port } = JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as WorkerAddress;
    return typeof host === 'string' && Number.isInteger(port) && isAlive(pid) ? { pid, host, port } : null;
  } catch {
    return null;
  }
}

/** The URL of a path on the worker. */
export function workerUrl({ host, port }: Pick<WorkerAddress, 'host' | 'port'>, path: string): string {
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}${path}`;
}
