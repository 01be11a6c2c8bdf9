interface Asked {
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** The time by the clock of the store, in microseconds since the Unix epoch. */
export async function clockMicros(store: Asked): Promise<number> {
  const [row] = await store.rows('SELECT toUnixTimestamp64Micro(now64(6)) AS micros');
  return Number(row?.['micros']);
}

/** Version of a row of which the earliest is to stand, given when what it says was read. */
export function earliestStands(readAtMicros: number): number {
  return 2 ** 53 - readAtMicros;
}
