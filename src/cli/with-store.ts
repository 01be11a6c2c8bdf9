import type { Config } from '../config.js';
import { openStore, type Store } from '../store/clickhouse.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { Io } from './io.js';
import { asCommandError } from './run-worker.js';
import { storeConfig } from './settings.js';

/** Opens the store for `use`, and closes it again. Throws a CommandError when it cannot be opened or does not answer. */
export async function withStore<T>(config: Config, io: Io, use: (store: Store) => Promise<T>): Promise<T> {
  try {
    const store = await openStore(storeConfig(config), io);
    try {
      const away = await store.ping();
      if (away !== null)
        throw new CommandError(`the store does not answer: ${away.message}`, ExitStatus.peerUnreachable);
      return await use(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw asCommandError(error);
  }
}
