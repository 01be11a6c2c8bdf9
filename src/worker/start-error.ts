/** Why a process cannot start: what to tell the operator. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
}
