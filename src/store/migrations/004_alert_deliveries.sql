-- Who was told of which transition, and what alerts need to find the series that have new trials.

CREATE TABLE IF NOT EXISTS {{db}}.alert_deliveries {{onCluster}}
(
    `alert_id` String COMMENT 'as in alerts',
    `transition` LowCardinality(String) COMMENT 'as in alerts',
    `webhook` LowCardinality(String) COMMENT 'the first 16 hex digits of the SHA-256 of its URL, which is a secret',
    `attempt` UInt32 COMMENT 'from 1',
    `status` LowCardinality(String) COMMENT 'claimed: somebody is about to send it; delivered; failed: it is tried again; refused: it is not',
    `claimant` String COMMENT 'the process that claimed this attempt',
    `detail` String COMMENT 'why it failed; never the URL',
    `version` UInt8 COMMENT '1: claimed, 2: what came of it',
    `at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store'
)
ENGINE = {{engine ReplacingMergeTree(version)}}
PARTITION BY toYYYYMM(at)
ORDER BY (alert_id, transition, webhook, attempt)
SETTINGS {{settings}}
COMMENT 'One row per attempt to tell a webhook of a transition. Read with FINAL.';

ALTER TABLE {{db}}.trials {{onCluster}} ADD INDEX IF NOT EXISTS by_written_at written_at TYPE minmax;
