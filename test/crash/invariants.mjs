/** What has to be in the store after a crash test. */

/** @typedef {import('./traffic.mjs').Interaction} Interaction */

/** What `compareWithTruth` looks at: a row an interaction. */
export const ROWS = `SELECT i.interaction_id AS interaction_id, toUInt32(length(i.tool_calls.name)) AS calls, query, answer,
    toUInt32(i.revision) AS revision, toUInt32(ifNull(input_tokens, 0) + ifNull(output_tokens, 0)) AS tokens,
    v.verdict AS verdict, toUInt32(v.revision) AS judged, toUInt32(i.open_top + v.open_top) AS open_tops
  FROM interactions_current AS i FULL JOIN verdicts_current AS v ON i.interaction_id = v.interaction_id`;

/**
 * Each interaction is there once, with all that it was sent with and the verdict that this gives; nothing else is there.
 *
 * @param {readonly Interaction[]} sent
 * @param {readonly object[]} rows Of `ROWS`.
 * @returns {string[]} The faults.
 */
export function compareWithTruth(sent, rows) {
  const left = new Map(sent.map((interaction) => [interaction.interactionId, interaction]));
  const faults = [];
  for (const row of rows) {
    const interaction = left.get(row.interaction_id);
    if (interaction === undefined) {
      faults.push(`${row.interaction_id}: nobody sent it, or it is there twice`);
      continue;
    }
    left.delete(row.interaction_id);
    const expected = { ...interaction.truth, judged: interaction.truth.revision, open_tops: 0 };
    for (const [key, value] of Object.entries(expected)) {
      const got = row[key];
      if (got !== value) faults.push(`interaction ${interaction.number}, ${key}: ${value} expected, got ${got}`);
    }
  }
  for (const { number } of left.values()) faults.push(`interaction ${number}: acknowledged and not in the store`);
  return faults;
}

/**
 * Two lists of rows with one key each are the same.
 *
 * @returns {string[]} The faults.
 */
export function compareRows(name, expected, got) {
  const left = new Map(expected.map((row) => [row.interaction_id, row]));
  const faults = [];
  for (const row of got) {
    const other = left.get(row.interaction_id);
    left.delete(row.interaction_id);
    if (other === undefined) faults.push(`${name} ${row.interaction_id}: no row expected, got one`);
    else if (JSON.stringify(other) !== JSON.stringify(row)) {
      const columns = Object.keys(row).filter((key) => JSON.stringify(row[key]) !== JSON.stringify(other[key]));
      for (const key of columns) faults.push(`${name} ${row.interaction_id}, ${key}: ${JSON.stringify(other[key])} expected, got ${JSON.stringify(row[key])}`); // prettier-ignore
    }
  }
  for (const id of left.keys()) faults.push(`${name} ${id}: a row expected, got none`);
  return faults;
}

const SHOWN = 10;

/** Throws when there are any. */
export function throwFaults(faults, when) {
  if (faults.length === 0) return;
  throw new Error(`${faults.length} faults ${when}:\n${faults.slice(0, SHOWN).join('\n')}`);
}
