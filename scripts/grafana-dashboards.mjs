// Writes grafana/dashboards/*.json; with --check it only compares. Here SQL is readable, and what all targets and panels
// have in common stands once.
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';

const UID = 'tracegrade-overview';
const DATASOURCE = { type: 'grafana-clickhouse-datasource', uid: 'tracegrade-clickhouse' };
/** Without it the plugin takes a query for one of version 3 and forgets its format. */
const PLUGIN_VERSION = '4.20.0';

// --- SQL. Tables are not named with their database: that is the data source's default database.

const NONE = "'(none)'";
const version = `ifNull(agent_version, ${NONE})`;
const environment = `ifNull(environment, ${NONE})`;
const shortName = `concat(assistant_id, ' ', ${version}, ' (', ${environment}, ')')`;
/** Series that differ by their scoring policy alone have to be told apart. */
const seriesName = (name) =>
  `if(uniqExact(series) OVER (PARTITION BY ${name}) > 1, concat(${name}, ', policy ', substring(policy, 1, 8)), ${name})`;
/** As a value of a variable: Grafana's singlequote format escapes quotes, but no backslashes. */
const quotable = (column) => String.raw`replaceAll(${column}, '\\', '\\\\')`;

const chosen = [
  'k = toUInt32OrZero(${k:singlequote})',
  'window = ${window:singlequote}',
  'scope = ${scope:singlequote}',
  'mode = ${mode:singlequote}',
].join('\n    AND ');
// Digits from our own query; a set of nothing (no series yet) holds nothing.
const ofSeries = 'series IN (${series:csv})';

/**
 * Estimates of a metric as a step: a row stands from `at` to the next one, so what stood when the range began is its first
 * point, and what stands last is drawn on to the end of the range, or as far as the rollup has come. Of the rows that would
 * share a pixel the last one is drawn.
 */
function steps(metric, columns, inner = '') {
  return `
WITH
    toDateTime64($__fromTime, 3, 'UTC') AS range_from,
    least(toDateTime64($__toTime, 3, 'UTC'), (SELECT max(at) FROM rollup_ticks)) AS known_until
SELECT
    arrayJoin(arrayDistinct([greatest(at, range_from), if(is_last, known_until, greatest(at, range_from))])) AS time,
    ${Object.entries(columns)
      .map(([name, column]) => `${column} AS \`${name}\``)
      .join(',\n    ')}
FROM
(
    SELECT *, row_number() OVER (PARTITION BY series ORDER BY at DESC) = 1 AS is_last${inner}
    FROM estimates FINAL
    WHERE metric = '${metric}'
    AND ${chosen}
    AND ${ofSeries}
    AND at <= known_until
    AND (at > range_from OR (series, at) IN
    (
        SELECT series, max(at)
        FROM estimates
        WHERE metric = '${metric}'
        AND ${chosen}
        AND ${ofSeries}
        AND at <= range_from
        GROUP BY series
    ))
    ORDER BY at DESC
    LIMIT 1 BY series, intDiv(toUnixTimestamp(at), $__interval_s)
)
WHERE known_until >= range_from
ORDER BY time`;
}

const SQL = {
  openAlerts: `
SELECT
    opened_at AS opened,
    kind,
    severity,
    JSONExtractString(details, 'reason') AS reason,
    assistant_id AS agent,
    ${version} AS version,
    ${environment} AS environment,
    objective,
    changed_at AS \`worse since\`,
    trials AS \`conversations since\`,
    correct AS \`of them right\`,
    p0 AS \`held to\`,
    certainty AS \`certainty of the drop\`,
    alert_id
FROM alerts_current
WHERE transition != 'closed'
ORDER BY opened DESC, alert_id`,

  reading: `
SELECT what, come_to AS \`come to\`, seen AS \`last sign of life\`
FROM
(
    SELECT concat(worker, ' reads ', source) AS what, argMax(stream_time, h.at) AS come_to, max(h.at) AS seen
    FROM heartbeats AS h
    WHERE h.at > (SELECT max(at) FROM heartbeats) - INTERVAL 1 DAY
    GROUP BY worker, source
    UNION ALL
    SELECT 'rollup' AS what, max(at) AS come_to, max(written_at) AS seen
    FROM rollup_ticks
    HAVING count() > 0
)
ORDER BY what`,

  now: `
SELECT
    assistant_id AS agent,
    ${version} AS version,
    ${environment} AS environment,
    k AS K,
    assessment,
    n,
    c AS \`right\`,
    unscored,
    left_out AS \`left out\`,
    anyIf(mean, metric = 'pass_pow_k') AS \`pass^K\`,
    anyIf(lower, metric = 'pass_pow_k') AS \`pass^K lower\`,
    anyIf(upper, metric = 'pass_pow_k') AS \`pass^K upper\`,
    anyIf(bound_lower, metric = 'pass_pow_k') AS \`pass^K if all outstanding fail\`,
    anyIf(bound_upper, metric = 'pass_pow_k') AS \`pass^K if all outstanding succeed\`,
    anyIf(mean, metric = 'pass_at_k') AS \`pass@K\`,
    anyIf(lower, metric = 'pass_at_k') AS \`pass@K lower\`,
    anyIf(upper, metric = 'pass_at_k') AS \`pass@K upper\`,
    at AS \`stands since\`
FROM estimates_current
WHERE ${chosen}
    AND ${ofSeries}
GROUP BY series, policy, at, agent, version, environment, K, assessment, n, \`right\`, unscored, left_out
ORDER BY agent, version, environment, policy`,

  compared: `
SELECT
    assistant_id AS agent,
    ${environment} AS environment,
    if(kind = 'version', concat('version ', ${version}), concat('version ', ${version}, ', ', window)) AS this,
    if(kind = 'version', concat('version ', ifNull(before_version, ${NONE})), concat('the ', window, ' before')) AS \`compared with\`,
    k AS K,
    worse AS \`P(worse)\`,
    better AS \`P(better)\`,
    mean AS \`pass^K\`,
    before_mean AS \`pass^K before\`,
    difference,
    margin,
    n,
    before_n AS \`n before\`,
    at AS \`stands since\`
FROM comparisons FINAL
WHERE k = toUInt32OrZero(\${k:singlequote})
    AND window = \${window:singlequote}
    AND ${ofSeries}
    AND worse IS NOT NULL
ORDER BY agent, environment, policy, kind, this`,

  assessment: steps('pass_pow_k', { assessment: 'assessment' }),

  failed: `
WITH failed AS
(
    SELECT first_closed_at, assistant_id, agent_version, environment, conversation_id, counts, interaction_ids
    FROM conversations_current
    WHERE verdict = 'incorrect' AND closed AND $__timeFilter(first_closed_at) AND ${ofSeries}
    ORDER BY first_closed_at DESC, conversation_id
    LIMIT 200
)
SELECT
    c.first_closed_at AS closed,
    c.assistant_id AS agent,
    ifNull(c.agent_version, ${NONE}) AS version,
    ifNull(c.environment, ${NONE}) AS environment,
    c.conversation_id AS conversation,
    t.turn AS turn,
    v.trace_id AS trace_id,
    arrayStringConcat(arrayMap((criterion, value) -> concat(criterion, ' ', toString(round(value, 3))),
        arrayFilter((criterion, value) -> value IS NOT NULL, v.scores.criterion, v.scores.value),
        arrayFilter(value -> value IS NOT NULL, v.scores.value)), ', ') AS scores,
    arrayStringConcat(arrayMap((criterion, reason) -> concat(criterion, ': ', reason),
        arrayFilter((criterion, passed) -> passed = false, v.scores.criterion, v.scores.passed),
        arrayFilter((reason, passed) -> passed = false, v.scores.reason, v.scores.passed)), '; ') AS why,
    if(c.counts, 'yes', 'no, something is outstanding') AS \`in n\`
FROM failed AS c
INNER JOIN
(
    SELECT conversation_id, interaction_id, turn
    FROM failed
    ARRAY JOIN interaction_ids AS interaction_id, arrayEnumerate(interaction_ids) AS turn
) AS t ON t.conversation_id = c.conversation_id
INNER JOIN
(
    SELECT interaction_id, trace_id, scores.criterion, scores.value, scores.passed, scores.reason
    FROM verdicts_current
    WHERE verdict = 'incorrect' AND interaction_id IN (SELECT arrayJoin(interaction_ids) FROM failed)
) AS v ON v.interaction_id = t.interaction_id
ORDER BY closed DESC, conversation, turn`,

  traceScores: `
SELECT
    started_at AS started,
    assistant_id AS agent,
    criterion,
    value,
    multiIf(passed IS NULL, concat('abstained: ', ifNull(abstained, '')), passed = true, 'passed', 'failed') AS outcome,
    ifNull(decided_by, '') AS \`decided by\`,
    reason
FROM scores_current
WHERE trace_id = lower(\${trace:singlequote})
ORDER BY started, interaction_id, criterion`,

  traceCalls: `
SELECT
    ifNull(call_started_at, started_at) AS started,
    position + 1 AS call,
    name AS tool,
    arguments_status AS arguments,
    multiIf(pending, 'waits for a person', failed, 'failed', 'ok') AS outcome,
    ifNull(owner, '') AS \`made by\`
FROM tool_calls_current
WHERE trace_id = lower(\${trace:singlequote})
ORDER BY started_at, interaction_id, position`,
};

// --- Targets

const target = (rawSql, kind) => ({
  refId: 'A',
  datasource: DATASOURCE,
  editorType: 'sql',
  queryType: kind,
  format: kind === 'timeseries' ? 0 : 1,
  pluginVersion: PLUGIN_VERSION,
  rawSql: rawSql.trim(),
});

// --- Variables

const variable = (name, label, rest) => ({ name, label, hide: 0, skipUrlSync: false, ...rest });

/** The plugin takes the first column as value and the second as text; with one column it is both. */
function queryVariable(name, label, { rawSql, current, many, description }) {
  return variable(name, label, {
    type: 'query',
    description,
    datasource: DATASOURCE,
    query: { ...target(rawSql, 'table'), refId: name },
    definition: rawSql.trim(),
    // With every change of the range, which is also every refresh of the board.
    refresh: 2,
    regex: '',
    sort: 0,
    multi: many,
    includeAll: many,
    allValue: null,
    options: [],
    current: many
      ? { selected: true, text: ['All'], value: ['$__all'] }
      : { selected: true, text: current, value: current },
  });
}

function choice(name, label, values, description) {
  const options = values.map((value, index) => ({ selected: index === 0, text: value, value }));
  const rest = { type: 'custom', description, query: values.join(','), options, current: options[0] };
  return variable(name, label, { ...rest, multi: false, includeAll: false, allValue: null });
}

// Every figure has a row of this kind at every tick that changed it, so these are enough to know which there are.
const anyEstimate = "metric = 'pass_pow_k' AND scope = 'pooled' AND mode = 'bayesian'";

const variables = [
  queryVariable('assistant', 'Agent', {
    many: true,
    rawSql: `
SELECT DISTINCT ${quotable('assistant_id')} AS value, assistant_id AS text
FROM estimates
WHERE ${anyEstimate}
ORDER BY text`,
  }),
  queryVariable('environment', 'Environment', {
    many: true,
    rawSql: `
SELECT DISTINCT ${quotable(environment)} AS value, ${environment} AS text
FROM estimates
WHERE ${anyEstimate}
ORDER BY text`,
  }),
  queryVariable('version', 'Version', {
    many: true,
    rawSql: `
SELECT DISTINCT ${quotable(version)} AS value, ${version} AS text
FROM estimates
WHERE ${anyEstimate} AND assistant_id IN (\${assistant:singlequote})
ORDER BY text`,
  }),
  queryVariable('series', 'Series', {
    many: true,
    description: 'What is estimated together. Those whose figures have not changed for 30 days are not listed.',
    rawSql: `
SELECT
    toString(series) AS value,
    ${seriesName('name')} AS text
FROM
(
    SELECT series, ${shortName} AS name, policy, max(at) AS changed_at
    FROM estimates
    WHERE ${anyEstimate}
        AND assistant_id IN (\${assistant:singlequote})
        AND ${environment} IN (\${environment:singlequote})
        AND ${version} IN (\${version:singlequote})
    GROUP BY series, name, policy
)
WHERE changed_at >= (SELECT max(at) FROM rollup_ticks) - INTERVAL 30 DAY
ORDER BY text`,
  }),
  queryVariable('k', 'K', {
    many: false,
    current: '3',
    description: 'Of pass@K and pass^K: how many conversations.',
    rawSql: `
SELECT toString(k) AS value
FROM estimates
WHERE ${anyEstimate}
GROUP BY k
ORDER BY k`,
  }),
  queryVariable('window', 'Window', {
    many: false,
    current: '24h',
    description:
      'The closed conversations that a figure is made from: those of a stretch of time, or the last so many.',
    rawSql: `
SELECT DISTINCT window AS value
FROM estimates
WHERE ${anyEstimate}
ORDER BY value`,
  }),
  choice(
    'mode',
    'Mode',
    ['bayesian', 'frequentist'],
    'bayesian: with interval. frequentist: the observed share alone.',
  ),
  choice(
    'scope',
    'Scope',
    ['pooled', 'per_task'],
    'pooled: K conversations of any tasks. per_task: K of one task, averaged over the tasks that have a label.',
  ),
  variable('trace', 'Trace', {
    type: 'textbox',
    description: 'Trace id, 32 hex digits. A click on one below fills it in.',
    query: '',
    options: [{ selected: true, text: '', value: '' }],
    current: { selected: true, text: '', value: '' },
  }),
];

// --- Panels

let panelId = 0;
const panel = (type, title, [x, y, w, h], rest) => ({
  id: ++panelId,
  type,
  title,
  gridPos: { x, y, w, h },
  ...rest,
});

const withQuery = (
  type,
  title,
  place,
  { sql, kind, description, defaults = {}, overrides = [], options = {}, repeat },
) =>
  panel(type, title, place, {
    description,
    datasource: DATASOURCE,
    targets: [target(sql, kind)],
    fieldConfig: { defaults, overrides },
    options,
    ...repeat,
  });

const override = (name, properties) => ({
  matcher: { id: 'byName', options: name },
  properties: Object.entries(properties).map(([id, value]) => ({ id, value })),
});
const overrideMatching = (pattern, properties) => ({
  ...override(pattern, properties),
  matcher: { id: 'byRegexp', options: pattern },
});
const color = (fixedColor) => ({ mode: 'fixed', fixedColor });

const SHARE = { unit: 'percentunit', min: 0, max: 1, decimals: 1 };
const STEP = {
  drawStyle: 'line',
  lineInterpolation: 'stepAfter',
  lineWidth: 2,
  fillOpacity: 0,
  showPoints: 'never',
  spanNulls: false,
};
const LEGEND = {
  legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
  tooltip: { mode: 'multi', sort: 'none' },
};

const ASSESSMENTS = {
  reliable: ['reliable', 'green'],
  inconsistent: ['inconsistent', 'orange'],
  needs_improvement: ['needs improvement', 'red'],
  not_enough_evidence: ['not enough evidence', 'blue'],
  rules_only: ['rules only', 'purple'],
};
const assessmentMappings = [
  {
    type: 'value',
    options: Object.fromEntries(
      Object.entries(ASSESSMENTS).map(([value, [text, shade]], index) => [value, { index, text, color: shade }]),
    ),
  },
];
const SEVERITIES = [
  { type: 'value', options: { page: { index: 0, color: 'red' }, ticket: { index: 1, color: 'orange' } } },
];
const coloured = (mappings) => ({ mappings, 'custom.cellOptions': { type: 'color-text' } });

const table = (title, place, rest) =>
  withQuery('table', title, place, { kind: 'table', options: { showHeader: true, cellHeight: 'sm' }, ...rest });

const lines = (title, place, rest) =>
  withQuery('timeseries', title, place, { kind: 'timeseries', options: LEGEND, ...rest });

const METRICS = {
  pass_pow_k: { name: 'pass^K', title: 'pass^$k: all of $k conversations are right' },
  pass_at_k: { name: 'pass@K', title: 'pass@$k: at least one of $k conversations is right' },
};

const WHAT_A_STEP_IS =
  'A figure stands until the next one. A line that ends before the range does says how far the rollup has come.';

const NO_ALARM =
  'The interval is of one look: watched all the time it will now and then leave any line that you draw. What may be ' +
  'watched is the alert.';

function figureOfAll(metric, place) {
  const { name, title } = METRICS[metric];
  return lines(`${title}, all series`, place, {
    sql: steps(
      metric,
      { series_name: 'series_name', [name]: 'mean' },
      `,\n        ${seriesName(shortName)} AS series_name`,
    ),
    description: `The figure of each series over the window. ${WHAT_A_STEP_IS}`,
    defaults: { ...SHARE, custom: STEP },
  });
}

function figureWithBand(metric, place) {
  const { name, title } = METRICS[metric];
  return lines(title, place, {
    sql: steps(metric, {
      [name]: 'mean',
      'interval lower': 'lower',
      'interval upper': 'upper',
      'if all outstanding fail': 'bound_lower',
      'if all outstanding succeed': 'bound_upper',
    }),
    description:
      `The figure with its interval (none in frequentist mode). The dashed lines are what the observed figure would be ` +
      `if all conversations that wait for something turned out worst, or best. ${NO_ALARM} ${WHAT_A_STEP_IS}`,
    defaults: { ...SHARE, custom: STEP },
    overrides: [
      override(name, { color: color('blue') }),
      override('interval lower', { color: color('blue'), 'custom.lineWidth': 0 }),
      override('interval upper', {
        color: color('blue'),
        'custom.lineWidth': 0,
        'custom.fillBelowTo': 'interval lower',
        'custom.fillOpacity': 20,
      }),
      overrideMatching('/^if all outstanding/', {
        color: color('gray'),
        'custom.lineWidth': 1,
        'custom.lineStyle': { fill: 'dash', dash: [6, 6] },
      }),
    ],
  });
}

// The link keeps what is chosen and fills in the trace.
const TRACE_LINK =
  `/d/${UID}?\${__url_time_range}&` +
  ['assistant', 'environment', 'version', 'series', 'k', 'window', 'mode', 'scope']
    .map((name) => `\${${name}:queryparam}`)
    .join('&') +
  '&var-trace=\${__value.raw}';

const row = (title, y, repeat = {}) => panel('row', title, [0, y, 24, 1], { collapsed: false, panels: [], ...repeat });

const panels = [
  table('Open alerts', [0, 0, 16, 7], {
    sql: SQL.openAlerts,
    description:
      'Of all agents, whatever is chosen above. drop: the success rate of a conversation fell below what the series is held ' +
      'to. blind: too little can be seen to say so. certainty: the probability that the drop is one that matters, from the ' +
      'conversations since the estimated change. Counts are those of the moment at which it opened or was upgraded.',
    overrides: [
      override('severity', coloured(SEVERITIES)),
      override('held to', SHARE),
      override('certainty of the drop', SHARE),
    ],
  }),
  table('How far has it read?', [16, 0, 8, 7], {
    sql: SQL.reading,
    description:
      'Workers of the last day before the latest sign of life, and the rollup. What closed after "come to" is in no figure yet.',
  }),
  table('How reliable is each agent now? pass^$k and pass@$k', [0, 7, 24, 8], {
    sql: SQL.now,
    description:
      'The latest figures, whatever the time range. n: conversations that count; unscored: closed ones that do not, because ' +
      'nothing judged them or something is outstanding; left out: by sampling or budget. rules only: no rule objected, but ' +
      'neither ground truth nor a judge decided anything.',
    overrides: [override('assessment', coloured(assessmentMappings)), overrideMatching('/^pass/', SHARE)],
  }),
  table('Newest version against the one before, and $window against the $window before: pass^$k', [0, 15, 24, 7], {
    sql: SQL.compared,
    description:
      'How probable it is that pass^K is lower, or higher, by more than the margin (estimate.margin). A version that no ' +
      'longer runs leaves windows by time: choose one by count, such as last_200. Look once: whoever looks until the figure ' +
      'is bad will find it bad. What may be watched is the alert.',
    overrides: [
      overrideMatching('/^(P|pass)/', SHARE),
      override('difference', { unit: 'percentunit', decimals: 1 }),
      override('margin', SHARE),
    ],
  }),
  figureOfAll('pass_pow_k', [0, 22, 12, 9]),
  figureOfAll('pass_at_k', [12, 22, 12, 9]),
  row('$series', 31, { repeat: 'series' }),
  figureWithBand('pass_pow_k', [0, 32, 12, 9]),
  figureWithBand('pass_at_k', [12, 32, 12, 9]),
  lines('Conversations in the window', [0, 41, 12, 7], {
    sql: steps('pass_pow_k', {
      n: 'n',
      right: 'c',
      unscored: 'unscored',
      'of them outstanding': 'outstanding',
      'left out': 'left_out',
    }),
    description: `What the figures are made from: n count, of which some were right; the others make no figure. ${WHAT_A_STEP_IS}`,
    defaults: { unit: 'short', min: 0, decimals: 0, custom: STEP },
  }),
  withQuery('state-timeline', 'Assessment', [12, 41, 12, 7], {
    kind: 'table',
    sql: SQL.assessment,
    description:
      'What the whole interval says, of pass@K and pass^K together; not enough evidence while it straddles a boundary.',
    defaults: { mappings: assessmentMappings, custom: { fillOpacity: 70, lineWidth: 0 } },
    options: { mergeValues: true, showValue: 'auto', rowHeight: 0.8, ...LEGEND },
  }),
  row('Why', 48),
  table('Failed conversations', [0, 49, 24, 10], {
    sql: SQL.failed,
    description:
      'Closed in the time range, latest first, 200 at most; a line for each turn that failed. A click on a trace id shows its scores and calls below.',
    overrides: [
      override('trace_id', {
        links: [{ title: 'Scores and calls of this trace', url: TRACE_LINK, targetBlank: false }],
      }),
      override('why', { 'custom.width': 420 }),
    ],
  }),
  table('Scores of trace $trace', [0, 59, 12, 9], {
    sql: SQL.traceScores,
    description: 'Every criterion of every turn of the trace.',
  }),
  table('Tool calls of trace $trace', [12, 59, 12, 9], {
    sql: SQL.traceCalls,
    description: 'In order; without arguments and results, which may be private: see tool_calls_current.',
  }),
];

const overview = {
  uid: UID,
  title: 'Tracegrade: overview',
  description: 'How reliable each agent is, what is wrong now, and why.',
  tags: ['tracegrade'],
  schemaVersion: 41,
  editable: true,
  graphTooltip: 1,
  timezone: 'browser',
  time: { from: 'now-24h', to: 'now' },
  refresh: '1m',
  annotations: { list: [] },
  templating: { list: variables },
  panels,
};

const file = new URL('../grafana/dashboards/overview.json', import.meta.url);
const text = await format(JSON.stringify(overview), { parser: 'json', printWidth: 120 });
if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('grafana/dashboards/overview.json is not what its script says: run npm run docs');
    process.exit(1);
  }
} else {
  writeFileSync(file, text);
}
