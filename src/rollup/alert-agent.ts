interface AgentColumns {
  readonly assistant_id?: unknown;
  readonly agent_version?: unknown;
  readonly environment?: unknown;
}

/** Agent, version and environment of an alert's row, for a person. `shown`: a name as it may stand there. */
export function agentOf(row: AgentColumns, shown: (name: string) => string = (name) => name): string {
  const { assistant_id: agent, agent_version: version, environment } = row;
  if (agent === '') return 'all agents';
  return [agent, version, typeof environment === 'string' ? `(${environment})` : null]
    .filter((name) => typeof name === 'string')
    .map((name) => shown(name))
    .join(' ');
}
