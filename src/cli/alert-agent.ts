/** Agent, version and environment of a row, for a person. */
export function agentOf(row: Readonly<Record<string, unknown>>): string {
  const { assistant_id: agent, agent_version: version, environment } = row;
  if (agent === '') return 'all agents';
  const inBrackets = typeof environment === 'string' ? `(${environment})` : null;
  return [agent, version, inBrackets].filter((name) => typeof name === 'string').join(' ');
}
