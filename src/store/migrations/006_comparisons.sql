-- How probable it is that a version, or a window, is worse than the one before it.

-- One row a series: which version is the newest is asked with every tick, and must not take longer with every day. Only
-- what has been a trial, since the close of a conversation that is open moves. What was taken back later is still in it.
CREATE TABLE IF NOT EXISTS {{db}}.series_starts {{onCluster}}
(
    `assistant_id` LowCardinality(String) COMMENT 'of the series',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `environment` LowCardinality(Nullable(String)) COMMENT 'of the series',
    `policy` LowCardinality(String) COMMENT 'scoring policy of the series',
    `series` UInt64 COMMENT 'as in conversations',
    `first_closed_at` DateTime64(3, 'UTC') COMMENT 'the earliest first_closed_at that a trial of it, which counts, ever had',
    `version` UInt64 DEFAULT 9007199254740992 - toUnixTimestamp64Milli(first_closed_at) COMMENT '2^53 less first_closed_at in milliseconds: the earliest stands'
)
ENGINE = {{engine ReplacingMergeTree(version)}}
ORDER BY (assistant_id, series)
SETTINGS {{settings}}
COMMENT 'When each series began, at the earliest. Read with FINAL.';

CREATE MATERIALIZED VIEW IF NOT EXISTS {{db}}.series_starts_feed {{onCluster}} TO {{db}}.series_starts
AS
SELECT assistant_id, agent_version, environment, policy, series, min(first_closed_at) AS first_closed_at
FROM {{db}}.conversations
WHERE NOT retracted AND counts AND isNotNull(trial)
GROUP BY assistant_id, agent_version, environment, policy, series;

INSERT INTO {{db}}.series_starts (assistant_id, agent_version, environment, policy, series, first_closed_at)
SELECT assistant_id, agent_version, environment, policy, series, min(first_closed_at)
FROM {{db}}.conversations
WHERE NOT retracted AND counts AND isNotNull(trial)
GROUP BY assistant_id, agent_version, environment, policy, series;

-- What stands now, and no history: the same question asked again and again would be answered wrongly sooner or later.
-- Of two rows the later tick stands, and of the same tick what was read later; both stand in the version, the tick above.
CREATE TABLE IF NOT EXISTS {{db}}.comparisons {{onCluster}}
(
    `kind` LowCardinality(String) COMMENT 'version: the newest version of the agent and the one before it; window: a stretch of one version and the one before it, as long',
    `assistant_id` LowCardinality(String) COMMENT 'of both sides',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'of the later side',
    `environment` LowCardinality(Nullable(String)) COMMENT 'of both sides',
    `policy` LowCardinality(String) COMMENT 'scoring policy of both sides',
    `series` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, agent_version, environment, policy))) COMMENT 'series of the later side',
    `subject` UInt64 DEFAULT sipHash64(toJSONString((assistant_id, if(kind = 'version', NULL, agent_version), environment, policy))) COMMENT 'hash of what is compared with itself: the agent, or one version of it',
    `window` LowCardinality(String) COMMENT 'name of the stretch, as in estimates',
    `k` UInt32 COMMENT 'the K of pass^K',
    `at` DateTime64(3, 'UTC') COMMENT 'the tick at which one of the sides changed last',
    `n` UInt64 COMMENT 'conversations of the later side that count',
    `c` UInt64 COMMENT 'of them, the correct ones',
    `mean` Float64 COMMENT 'posterior mean of its pass^K',
    `lower` Float64 COMMENT 'lower end of its interval',
    `upper` Float64 COMMENT 'upper end of its interval',
    `before_version` LowCardinality(Nullable(String)) COMMENT 'version of the earlier side; of kind window the same',
    `before_n` UInt64 COMMENT 'as n, of the earlier side',
    `before_c` UInt64 COMMENT 'as c, of the earlier side',
    `before_mean` Float64 COMMENT 'as mean, of the earlier side',
    `before_lower` Float64 COMMENT 'as lower, of the earlier side',
    `before_upper` Float64 COMMENT 'as upper, of the earlier side',
    `difference` Float64 COMMENT 'mean less before_mean: below 0, it became worse',
    `margin` Float64 COMMENT 'the smallest difference of pass^K that matters',
    `worse` Nullable(Float64) COMMENT 'P(pass^K < pass^K of the earlier side - margin), 0 to 1; NULL while one of them has no conversation that counts',
    `better` Nullable(Float64) COMMENT 'P(pass^K > pass^K of the earlier side + margin), 0 to 1; NULL as worse',
    `prior_a` Float64 COMMENT 'prior of the success rate of each side: Beta(prior_a, prior_b)',
    `prior_b` Float64 COMMENT 'prior of the success rate of each side: Beta(prior_a, prior_b)',
    `level` Float64 COMMENT 'mass of the intervals',
    `version` UInt128 COMMENT 'the tick in milliseconds x 2^64, and when its conversations were read, in microseconds; the greatest wins',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree(version)}}
ORDER BY (kind, k, window, assistant_id, subject)
SETTINGS {{settings}}
COMMENT 'pass^K of the newest version, and of each window, against the one before it, as it stands now. Read with FINAL.';
