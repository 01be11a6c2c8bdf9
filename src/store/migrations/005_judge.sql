-- What the judge is told beside an interaction's own facts, and what it answered.

ALTER TABLE {{db}}.interactions {{onCluster}}
    ADD COLUMN IF NOT EXISTS `earlier_turns.query` Array(Nullable(String)) COMMENT 'what the user asked in the last turns before, as the history of this one tells it; NULL when it does not' CODEC(ZSTD(1)) AFTER `answer`,
    ADD COLUMN IF NOT EXISTS `earlier_turns.answer` Array(Nullable(String)) COMMENT 'what the agent answered in them' CODEC(ZSTD(1)) AFTER `earlier_turns.query`;

-- A view keeps the columns that its table had when it was made.
CREATE OR REPLACE VIEW {{db}}.interactions_current {{onCluster}}
AS
SELECT *
FROM {{db}}.interactions FINAL
WHERE NOT (open_top AND interaction_id IN (SELECT interaction_id FROM {{db}}.shadowed))
COMMENT 'One row per user turn, under its fullest revision.';

-- Keys are hashes and each is asked for by itself, so that a look-up should read few rows beside its own.
CREATE TABLE IF NOT EXISTS {{db}}.judge_answers {{onCluster}}
(
    `key` String COMMENT 'SHA-256 of the scoring policy and of the question to the model, word for word',
    `policy` LowCardinality(String) COMMENT 'scoring policy that it was asked under',
    `answer` String COMMENT 'JSON text of what the model answered' CODEC(ZSTD(1)),
    `at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when it was stored, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree(at)}}
ORDER BY key
TTL toDateTime(at) + INTERVAL 90 DAY
SETTINGS {{settings}}, index_granularity = 256
COMMENT 'Answers of the judge, so that no question is paid for twice. Deleted after 90 days.';
