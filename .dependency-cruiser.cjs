/**
 * Rooms meet only in model/; pipeline.ts joins them; cli/ and main.ts start things.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const rooms = ['receive', 'interpret', 'assemble', 'score', 'judge', 'estimate', 'store', 'telemetry'];

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    ...rooms.map((room) => ({
      name: `${room}-knows-only-model`,
      comment: 'A room may import itself, model/ and libraries.',
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: `^src/(${room}|model)/` },
    })),
    {
      name: 'model-knows-nothing',
      severity: 'error',
      from: { path: '^src/model/' },
      to: { path: '^src/', pathNot: '^src/model/' },
    },
    {
      name: 'config-knows-only-model',
      severity: 'error',
      from: { path: '^src/config(-range)?\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(model/|config-range\\.ts$)' },
    },
    {
      name: 'batch-joins-score-and-estimate',
      severity: 'error',
      from: { path: '^src/batch/' },
      to: { path: '^src/', pathNot: '^src/(batch|score|estimate|model)/' },
    },
    {
      name: 'pure-rooms-touch-no-world',
      comment: 'interpret, assemble, score, estimate and model do no input or output.',
      severity: 'error',
      from: {
        path: '^src/(model|interpret|assemble|score|estimate)/',
        pathNot: '^src/(model/loopback|score/dataset-files)\\.ts$',
      },
      to: {
        dependencyTypes: ['core'],
        path: '^(node:)?(fs|fs/promises|http|https|net|child_process|os|timers|timers/promises|worker_threads|dns|tls)$',
      },
    },
    {
      name: 'only-cli-and-main-start-things',
      severity: 'error',
      from: { pathNot: '^src/(main\\.ts|cli/)' },
      to: { path: '^src/(cli/|main\\.ts)' },
    },
    { name: 'no-dev-dependencies', severity: 'error', from: { path: '^src/' }, to: { dependencyTypes: ['npm-dev'] } },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
