-- What the rollup makes of the verdicts. Everything in here but trials and alerts can be dropped and made again.
--
-- A series is what is estimated together: agent, version, environment and scoring policy. It stands as a hash in the keys,
-- because NULLs cannot. The day stands before it: what is merged already then lies in days of its own, so that FINAL has
-- nothing to merge there (10 x faster on 10M conversations than with the series first).
-- Versions are the time at which the rows underneath were read, in microseconds by the clock of the store, and always
-- above that of the row that is replaced: what was read later wins, also where it holds less than before. (The sum of the
-- versions underneath would shrink, and lose, when a turn moves to another conversation or is shadowed.)

CREATE TABLE IF NOT EXISTS {{db}}.conversations {{onCluster}}
(
    `conversation_id` String COMMENT 'as in interactions',
    `assistant_id` LowCardinality(String) COMMENT 'as in its interactions: the same id under another agent is another conversation',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'of its first turn',
    `environment` LowCardinality(Nullable(String)) COMMENT 'of its first turn',
    `task` LowCardinality(Nullable(String)) COMMENT 'of its first turn',
    `policy` LowCardinality(String) COMMENT 'scoring policy of its first turn',
    `series` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, agent_version, environment, policy))) COMMENT 'hash of assistant_id, agent_version, environment and policy',
    `started_at` DateTime64(3, 'UTC') COMMENT 'start of its first turn',
    `ended_at` DateTime64(3, 'UTC') COMMENT 'latest end in its turns',
    `first_closed_at` DateTime64(3, 'UTC') COMMENT 'end of its turns before the first gap >= conversation.idleMs, plus that time; lies ahead while it is open',
    `interaction_ids` Array(String) COMMENT 'its turns, in order of start',
    `interaction_starts` Array(DateTime64(3, 'UTC')) COMMENT 'starts of its turns',
    `verdict` LowCardinality(String) COMMENT 'correct, incorrect or unscored, over all of its turns',
    `counts` Bool COMMENT 'it has a label, nothing outstanding and nothing left out: once closed, it is in n',
    `left_out` Bool COMMENT 'sampling or the budget left it out',
    `outstanding` UInt32 COMMENT 'criteria that should have been scored and were not yet, over its turns',
    `incorrect_whatever_comes` Bool COMMENT 'incorrect already, with something outstanding',
    `judged` Bool COMMENT 'an expectation or a judge decided a criterion of it',
    `trial` Nullable(Bool) COMMENT 'its first settled verdict, as in trials; NULL while there is none',
    `retracted` Bool COMMENT 'this row is void: the conversation is gone, or stands under another series or start',
    `revises` Nullable(DateTime64(3, 'UTC')) COMMENT 'first_closed_at of the row that this one replaces, when the estimates had counted it',
    `version` UInt64 COMMENT 'when its verdicts were read, in microseconds; the greatest wins',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store',
    INDEX by_conversation_id conversation_id TYPE bloom_filter(0.01),
    INDEX by_first_closed_at first_closed_at TYPE minmax,
    INDEX by_ended_at ended_at TYPE minmax,
    INDEX by_version version TYPE minmax
)
ENGINE = {{engine ReplacingMergeTree(version)}}
PARTITION BY toYYYYMM(started_at)
ORDER BY (toDate(started_at), series, started_at, conversation_id)
SETTINGS {{settings}}, index_granularity = 1024
COMMENT 'One row per conversation, as it is judged now. Read conversations_current.';

CREATE TABLE IF NOT EXISTS {{db}}.conversation_index {{onCluster}}
(
    `id` String COMMENT 'id of a conversation, or of one of its interactions',
    `conversation_id` String COMMENT 'as in conversations',
    `series` UInt64 COMMENT 'as in conversations',
    `started_at` DateTime64(3, 'UTC') COMMENT 'as in conversations'
)
ENGINE = {{engine ReplacingMergeTree()}}
PARTITION BY toYYYYMM(started_at)
ORDER BY (id, conversation_id, series, started_at)
SETTINGS {{settings}}, index_granularity = 1024
COMMENT 'Where the rows of conversations stand, also those that are void: a few hundred ids are found without reading the table.';

CREATE MATERIALIZED VIEW IF NOT EXISTS {{db}}.conversation_index_feed {{onCluster}} TO {{db}}.conversation_index
AS
SELECT arrayJoin(arrayConcat([conversation_id], interaction_ids)) AS id, conversation_id, series, started_at
FROM {{db}}.conversations;

CREATE TABLE IF NOT EXISTS {{db}}.trials {{onCluster}}
(
    `conversation_id` String COMMENT 'as in conversations',
    `assistant_id` LowCardinality(String) COMMENT 'as in conversations',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'as in conversations',
    `environment` LowCardinality(Nullable(String)) COMMENT 'as in conversations',
    `task` LowCardinality(Nullable(String)) COMMENT 'as in conversations',
    `policy` LowCardinality(String) COMMENT 'as in conversations',
    `series` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, agent_version, environment, policy))) COMMENT 'as in conversations',
    `first_closed_at` DateTime64(3, 'UTC') COMMENT 'as in conversations; trials are in order of this, then of the id',
    `correct` Bool COMMENT 'the first settled verdict; later corrections are in conversations only',
    `version` UInt64 COMMENT '2^53 less the time at which its verdicts were read, in microseconds: the earliest stands',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store',
    INDEX by_conversation_id conversation_id TYPE bloom_filter(0.01),
    INDEX by_first_closed_at first_closed_at TYPE minmax
)
ENGINE = {{engine ReplacingMergeTree(version)}}
PARTITION BY toYYYYMM(first_closed_at)
ORDER BY (toDate(first_closed_at), series, first_closed_at, conversation_id)
SETTINGS {{settings}}, index_granularity = 1024
COMMENT 'What alerts stand on: the first settled verdict of each closed conversation, written once. Read with FINAL.';

CREATE TABLE IF NOT EXISTS {{db}}.estimates {{onCluster}}
(
    `assistant_id` LowCardinality(String) COMMENT 'of the series',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `environment` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `task` LowCardinality(Nullable(String)) COMMENT 'of the series; NULL: of all tasks, and of conversations without a task label',
    `policy` LowCardinality(String) COMMENT 'scoring policy of the series',
    `series` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, agent_version, environment, policy))) COMMENT 'as in conversations',
    `window` LowCardinality(String) COMMENT 'name of the stretch of closed conversations: 1h, 24h, last_50, ...',
    `k` UInt32 COMMENT 'the K of pass@K and pass^K',
    `at` DateTime64(3, 'UTC') COMMENT 'the tick: what closed until then is counted. It stands until the next row',
    `metric` LowCardinality(String) COMMENT 'pass_at_k or pass_pow_k',
    `scope` LowCardinality(String) COMMENT 'pooled: K conversations of any tasks; per_task: K of one task, averaged over the tasks',
    `mode` LowCardinality(String) COMMENT 'bayesian or frequentist',
    `n` UInt64 COMMENT 'conversations that count',
    `c` UInt64 COMMENT 'of them, the correct ones',
    `unscored` UInt64 COMMENT 'closed conversations that are no trial although nothing left them out',
    `outstanding` UInt64 COMMENT 'of the unscored, those that wait for something; they make the bounds',
    `outstanding_incorrect` UInt64 COMMENT 'of the outstanding, those that are incorrect whatever comes',
    `left_out` UInt64 COMMENT 'closed conversations that sampling or the budget left out; n + unscored + left_out are all',
    `mean` Nullable(Float64) COMMENT 'the figure, 0 to 1; NULL when it is undefined',
    `lower` Nullable(Float64) COMMENT 'lower end of the interval; NULL in frequentist mode',
    `upper` Nullable(Float64) COMMENT 'upper end of the interval; NULL in frequentist mode',
    `bound_lower` Nullable(Float64) COMMENT 'the observed figure if all outstanding conversations turned out worst; NULL without any conversation',
    `bound_upper` Nullable(Float64) COMMENT 'the observed figure if all outstanding conversations turned out best; NULL without any conversation',
    `assessment` LowCardinality(String) COMMENT 'reliable, inconsistent, needs_improvement, not_enough_evidence or rules_only',
    `prior_a` Float64 COMMENT 'prior of the success rate: Beta(prior_a, prior_b)',
    `prior_b` Float64 COMMENT 'prior of the success rate: Beta(prior_a, prior_b)',
    `level` Float64 COMMENT 'mass of the interval',
    `version` UInt64 COMMENT 'when its conversations were read, in microseconds; the greatest wins',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree(version)}}
PARTITION BY toYYYYMM(at)
ORDER BY (metric, k, window, scope, mode, assistant_id, series, at)
SETTINGS {{settings}}
COMMENT 'pass@K and pass^K of a series over a window, at the ticks at which the window changed. Read with FINAL, or estimates_current.';

CREATE TABLE IF NOT EXISTS {{db}}.rollup_ticks {{onCluster}}
(
    `at` DateTime64(3, 'UTC') COMMENT 'the tick, in stream time: everything up to it is in conversations, trials and estimates',
    `read_at` UInt64 COMMENT 'when the rollup began to read for it, in microseconds by the clock of the store',
    `conversations` UInt64 COMMENT 'rows of conversations written since the tick before',
    `trials` UInt64 COMMENT 'rows of trials written since the tick before',
    `estimates` UInt64 COMMENT 'rows of estimates written since the tick before',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree(read_at)}}
PARTITION BY toYYYYMM(at)
ORDER BY at
SETTINGS {{settings}}
COMMENT 'How far the rollup has come. The next one goes on from the last row.';

CREATE TABLE IF NOT EXISTS {{db}}.alerts {{onCluster}}
(
    `alert_id` String COMMENT 'the same for all transitions from its opening to its close',
    `kind` LowCardinality(String) COMMENT 'drop: the success rate fell; blind: nothing can be seen, and drops are not looked for',
    `objective` LowCardinality(String) COMMENT 'name of the objective; empty for blind',
    `transition` LowCardinality(String) COMMENT 'opened, upgraded or closed',
    `severity` LowCardinality(String) COMMENT 'ticket or page',
    `at` DateTime64(3, 'UTC') COMMENT 'close of the conversation that decided; for blind, the tick',
    `conversation_id` String COMMENT 'conversation that decided; empty for blind',
    `assistant_id` LowCardinality(String) COMMENT 'of the series; empty where blind is of all',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `environment` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `task` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `policy` LowCardinality(String) COMMENT 'scoring policy of the series',
    `series` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, agent_version, environment, policy))) COMMENT 'as in conversations',
    `opened_at` DateTime64(3, 'UTC') COMMENT 'at of the transition that opened it',
    `changed_at` Nullable(DateTime64(3, 'UTC')) COMMENT 'close of the first conversation since the estimated change; NULL for blind',
    `trials` UInt64 COMMENT 'trials since the estimated change',
    `correct` UInt64 COMMENT 'of them, the correct ones',
    `log_evidence` Nullable(Float64) COMMENT 'natural logarithm of the mean evidence: for the drop, or, when it closed, for the recovery; NULL for blind',
    `log_threshold` Nullable(Float64) COMMENT 'natural logarithm of what the evidence had to reach; NULL for blind',
    `certainty` Nullable(Float64) COMMENT 'P(p < p0 - delta) of these trials, 0 to 1; NULL for blind',
    `p0` Nullable(Float64) COMMENT 'success rate that the series is held to; NULL for blind',
    `delta` Nullable(Float64) COMMENT 'the smallest drop that matters; NULL for blind',
    `details` String COMMENT 'JSON text of an object: the frozen objective, or what made us blind' CODEC(ZSTD(1)),
    `version` UInt64 COMMENT '2^53 less the time at which its trials were read, in microseconds: the earliest stands',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store',
    INDEX by_alert_id alert_id TYPE bloom_filter(0.01)
)
ENGINE = {{engine ReplacingMergeTree(version)}}
PARTITION BY toYYYYMM(at)
ORDER BY (series, kind, objective, alert_id, transition)
SETTINGS {{settings}}
COMMENT 'One row per transition of an alert. Read with FINAL, or alerts_current.';

CREATE TABLE IF NOT EXISTS {{db}}.detector_state {{onCluster}}
(
    `assistant_id` LowCardinality(String) COMMENT 'of the series',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `environment` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `task` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `policy` LowCardinality(String) COMMENT 'scoring policy of the series',
    `series` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, agent_version, environment, policy))) COMMENT 'as in conversations',
    `objective` LowCardinality(String) COMMENT 'name of the objective',
    `frozen` String COMMENT 'JSON text: the objective with the values that it had when its watch began' CODEC(ZSTD(1)),
    `position_at` Nullable(DateTime64(3, 'UTC')) COMMENT 'first_closed_at of the last conversation that was folded or passed over; NULL at the start',
    `position_id` String COMMENT 'its conversation_id',
    `folded` UInt64 COMMENT 'trials folded',
    `left_out` UInt64 COMMENT 'conversations passed over',
    `behind` UInt64 COMMENT 'trials that turned up at or before the position',
    `state` String COMMENT 'JSON text: the state of the detector' CODEC(ZSTD(1)),
    `version` UInt64 COMMENT 'folded + left_out + 1: the one that has come furthest wins',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree(version)}}
ORDER BY (series, objective, ifNull(task, ''))
SETTINGS {{settings}}
COMMENT 'Checkpoint of the detector of a series and objective. Read with FINAL.';

CREATE VIEW IF NOT EXISTS {{db}}.conversations_current {{onCluster}}
AS
SELECT *, first_closed_at <= (SELECT max(at) FROM {{db}}.rollup_ticks) AS closed
FROM {{db}}.conversations FINAL
WHERE NOT retracted
COMMENT 'One row per conversation, as it is judged now; closed: as of the last tick.';

-- All rows of a series and window at a tick are written together, so one metric and scope tell the last tick of them all.
CREATE VIEW IF NOT EXISTS {{db}}.estimates_current {{onCluster}}
AS
SELECT *
FROM {{db}}.estimates FINAL
WHERE (series, window, at) IN
(
    SELECT series, window, max(at)
    FROM {{db}}.estimates
    WHERE metric = 'pass_pow_k' AND scope = 'pooled'
    GROUP BY series, window
)
COMMENT 'The estimates that stand now: the last row of each series, window, K, metric, scope and mode.';

CREATE VIEW IF NOT EXISTS {{db}}.alerts_current {{onCluster}}
AS
SELECT *
FROM {{db}}.alerts FINAL
WHERE (alert_id, transition) IN
(
    SELECT alert_id, argMax(transition, (at, transition = 'closed'))
    FROM {{db}}.alerts
    GROUP BY alert_id
)
COMMENT 'The last transition of each alert; an alert stands open while that is not closed.';
