/** The data directory belongs to another process, which can be asked over its HTTP port. */
export class StoreBusyError extends Error {
  override readonly name = 'StoreBusyError';

  constructor(
    readonly path: string,
    readonly owner: StoreOwner | null,
    options?: ErrorOptions,
  ) {
    super(
      `the data directory ${path} is in use by ${owner === null ? 'another process' : `process ${owner.pid}, running since ${owner.since}`}; expected a directory of our own`,
      options,
    );
  }
}

/** The process that has the embedded engine's directory open, as the engine wrote it down. */
export interface StoreOwner {
  readonly pid: number;
  /** As the engine writes it: local time, `YYYY-MM-DD hh:mm:ss`. */
  readonly since: string;
}

/** The embedded engine is not installed, or does not run on this platform. */
export class EngineMissingError extends Error {
  override readonly name = 'EngineMissingError';

  constructor(options?: ErrorOptions) {
    super(
      'store.url is "embedded", which needs the optional package chdb (Linux with glibc, macOS): run `npm install chdb`, ' +
        'or set store.url to the URL of a ClickHouse server',
      options,
    );
  }
}

/** The database's schema and this program do not fit together; a person must decide. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
