/**
 * The dataset files of a running worker, read again when they change.
 *
 * Life of a file: new -> settled (two polls saw the same file) -> read -> settled again after a change, and so on. What was
 * read whole and without a fault is in use; a file that has a fault or cannot be read keeps what it had, and the fault is
 * told once for each change. A file that disappears from a directory takes its turns with it; one that is named itself, or
 * whose directory cannot be listed, is missing by mistake and keeps them. All turns are put in use at once, between two
 * interactions. Stopping leaves a reading in hand without effect.
 *
 * Files are looked at, not listened to: notifications do not come from network file systems and other machines' writes, and
 * a mounted ConfigMap changes by the link above the file. What tells a change is the file behind the links, its size and
 * its times (ctime too: copies keep mtime, and it tells that permissions changed). It trades up to two intervals of delay
 * for never reading what is being written.
 */
import { stat } from 'node:fs/promises';
import type { Rejection } from './model/rejection.js';
import { datasetFilesIn, readDatasetFile } from './score/dataset-files.js';
import type { DatasetFault, DatasetTurn } from './score/datasets.js';
import { buildExpectationIndex, type ExpectationIndex } from './score/expectations.js';
import { trackExpectations } from './score/tracked-expectations.js';
import type { Events } from './telemetry/events.js';

export interface WatchedDatasets extends ExpectationIndex {
  /** Turns now in use whose ground truth was used; an edit of their file forgets it. */
  readonly matched: number;
  /** Looks at the files once; resolves when what has settled is read and in use. Never rejects. */
  poll(): Promise<void>;
  /** Polls every `everyMs` until the function that it gives is called. */
  watch(everyMs: number, reject: (rejection: Rejection) => void): () => void;
}

export type OpenedDatasets =
  | { readonly status: 'opened'; readonly datasets: WatchedDatasets }
  /** What cannot be used, each with its place: at the start nothing is left out. */
  | { readonly status: 'faulty'; readonly faults: readonly DatasetFault[] };

// A file whose every line is wrong in the same way needs no more to be understood.
const MOST_FAULTS = 20;

interface WatchedFile {
  readonly path: string;
  /** The directory that it was found in; null: it is named itself. */
  readonly directory: string | null;
  /** As the last poll saw it. */
  seen: string;
  /** As it was when it was last read or found missing; null: that has to be done again. */
  read: string | null;
  turns: readonly DatasetTurn[];
  /** Its last fault, told already. */
  told: string;
}

/** Reads files, and the dataset files in directories. */
export async function openDatasets(
  paths: readonly string[],
  events: Pick<Events, 'datasetsLoaded' | 'datasetRefused'>,
): Promise<OpenedDatasets> {
  let files: readonly WatchedFile[] = [];
  let reject: (rejection: Rejection) => void = () => undefined;
  let stopped = false;

  files = [...(await list(paths, [])).keys()];
  const faults: DatasetFault[] = [];
  for (const file of files) {
    file.seen = file.read = await stateOf(file.path);
    const found = await readDatasetFile(file.path);
    file.turns = found.turns;
    faults.push(...found.faults);
  }
  if (faults.length > 0) return { status: 'faulty', faults };
  let current = trackExpectations(buildExpectationIndex(turnsOf(files)));
  if (paths.length > 0) loaded();

  function loaded(): void {
    events.datasetsLoaded({ files: files.length, turns: current.turns.length });
  }

  /** Gives whether the file's turns are others now. */
  async function readAgain(file: WatchedFile, state: string): Promise<boolean> {
    const { turns, faults } = await readDatasetFile(file.path);
    if ((await stateOf(file.path)) !== state) return false; // It changed under our hands: the next poll tries again.
    file.read = faults.some(({ code }) => code !== undefined) ? null : state;
    if (faults.length > 0) {
      tell(file, state, faults);
      return false;
    }
    file.turns = turns;
    file.told = '';
    return true;
  }

  function tell(file: WatchedFile, state: string, faults: readonly DatasetFault[]): void {
    const told = `${state} ${faults[0]?.problem}`;
    if (stopped || told === file.told) return;
    file.told = told;
    events.datasetRefused({ path: file.path, faults: faults.length, first: faults[0] as DatasetFault });
    const details = faults.slice(0, MOST_FAULTS).map(({ place, problem }) => `${place}: ${problem}`);
    if (faults.length > MOST_FAULTS) details.push(`${file.path}: and ${faults.length - MOST_FAULTS} more faults`);
    for (const detail of details) reject({ reason: 'invalid_expectation', detail, spans: 0 });
  }

  async function poll(): Promise<void> {
    const kept: WatchedFile[] = [];
    let changed = false;
    for (const [file, presence] of await list(paths, files)) {
      const state = presence === 'there' ? await stateOf(file.path) : presence;
      const settled = state === file.seen;
      file.seen = state;
      const left = settled && presence === 'gone';
      if (!left) kept.push(file);
      if (left) changed ||= file.turns.length > 0;
      else if (settled && presence === 'there' && state !== file.read) {
        changed = (await readAgain(file, state)) || changed;
      }
    }
    files = kept;
    if (!changed || stopped) return;
    current = trackExpectations(buildExpectationIndex(turnsOf(files)), current.matched);
    loaded();
  }

  return {
    status: 'opened',
    datasets: {
      get turns() {
        return current.turns;
      },
      get matched() {
        return current.matched.size;
      },
      match: (interaction, turn) => current.match(interaction, turn),
      poll,
      watch(everyMs, told) {
        reject = told;
        let timer: NodeJS.Timeout;
        const wait = () => {
          timer = setTimeout(() => void poll().then(() => stopped || wait()), everyMs);
        };
        wait();
        return () => {
          stopped = true;
          clearTimeout(timer);
        };
      },
    },
  };
}

function turnsOf(files: readonly WatchedFile[]): readonly DatasetTurn[] {
  return files.flatMap((file) => file.turns);
}

/** `gone`: no longer in its directory; `unknown`: its directory cannot be listed. */
type Presence = 'there' | 'gone' | 'unknown';

/** The files of `paths` in order; those known already as they are. */
async function list(
  paths: readonly string[],
  known: readonly WatchedFile[],
): Promise<ReadonlyMap<WatchedFile, Presence>> {
  const listed = new Map<string, [WatchedFile, Presence]>();
  const add = (path: string, directory: string | null, presence: Presence) => {
    const file = known.find((each) => each.path === path) ?? { ...UNREAD, path, directory };
    if (!listed.has(path)) listed.set(path, [file, presence]);
  };
  for (const path of paths) {
    const found = await datasetFilesIn(path);
    for (const each of found ?? [path]) add(each, found === null ? null : path, 'there');
    for (const each of known) {
      if (each.directory === path) add(each.path, path, found === null ? 'unknown' : 'gone');
    }
  }
  return new Map(listed.values());
}

const UNREAD = { seen: '', read: null, turns: [], told: '' } as const;

/** Equal as long as the file, as far as can be told without reading it, is. */
async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`;
  }
}
