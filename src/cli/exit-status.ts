/** What the exit status says; scripts stand on it. */
export const ExitStatus = {
  done: 0,
  /** A gate such as `--fail-under` was missed. */
  gateMissed: 1,
  /** Wrong use or configuration. */
  usage: 2,
  /** Some input could not be read; the rest was. */
  inputUnreadable: 3,
  /** The store or another peer is out of reach. */
  peerUnreachable: 4,
} as const;

export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

/** A command ends early: what to tell the person, and the status to exit with. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly status: ExitStatus,
  ) {
    super(message);
    this.name = 'CommandError';
  }
}
