-- What users read. Views leave out what was superseded, so that plain SQL on them is right at any moment, merged or not.
--
-- open_tops is fed by a materialized view with the few rows whose topmost span names a parent that never came, so that
-- the search for shadowed rows starts from a small table and not from every row ever written.

CREATE TABLE IF NOT EXISTS {{db}}.open_tops {{onCluster}}
(
    `interaction_id` String COMMENT 'as in interactions',
    `trace_id` String COMMENT 'as in interactions',
    `started_at` DateTime64(3, 'UTC') COMMENT 'as in interactions'
)
ENGINE = {{engine ReplacingMergeTree()}}
PARTITION BY toYYYYMM(started_at)
ORDER BY (trace_id, interaction_id, started_at)
SETTINGS {{settings}}
COMMENT 'Every interaction that was open-topped in some revision.';

CREATE MATERIALIZED VIEW IF NOT EXISTS {{db}}.open_tops_feed {{onCluster}} TO {{db}}.open_tops
AS SELECT interaction_id, trace_id, started_at FROM {{db}}.interactions WHERE open_top;

-- No FINAL in here: more evidence only widens a row, so an older revision covers nothing that the newest does not.
-- A plain join, so that the engine builds its hash table from the smaller side, be it the open-topped rows or the others.
CREATE VIEW IF NOT EXISTS {{db}}.shadowed {{onCluster}}
AS
SELECT DISTINCT o.interaction_id AS interaction_id
FROM {{db}}.open_tops AS o
INNER JOIN
(
    SELECT trace_id, started_at AS covered_from, ended_at AS covered_to
    FROM {{db}}.interactions
    WHERE NOT open_top
) AS w ON o.trace_id = w.trace_id
WHERE o.started_at BETWEEN w.covered_from AND w.covered_to
COMMENT 'Interactions whose trace has a row that is not open-topped and covers their start. An id can stand here and in a good row: test open_top as well.';

CREATE VIEW IF NOT EXISTS {{db}}.interactions_current {{onCluster}}
AS
SELECT *
FROM {{db}}.interactions FINAL
WHERE NOT (open_top AND interaction_id IN (SELECT interaction_id FROM {{db}}.shadowed))
COMMENT 'One row per user turn, under its fullest revision.';

CREATE VIEW IF NOT EXISTS {{db}}.tool_calls_current {{onCluster}}
AS
SELECT
    interaction_id,
    trace_id,
    conversation_id,
    started_at,
    assistant_id,
    agent_version,
    environment,
    task,
    model,
    call.position AS position,
    call.call_id AS call_id,
    call.name AS name,
    call.arguments AS arguments,
    call.arguments_status AS arguments_status,
    call.result AS result,
    call.result_status AS result_status,
    call.error AS error,
    call.failed AS failed,
    call.pending AS pending,
    call.owner AS owner,
    call.by_root AS by_root,
    call.started_at AS call_started_at,
    call.ended_at AS call_ended_at,
    call.offer AS offer,
    call.free_text AS free_text,
    call.provider_executed AS provider_executed
FROM {{db}}.interactions_current
ARRAY JOIN tool_calls AS call
COMMENT 'One row per tool call of interactions_current. started_at is that of the interaction.';

CREATE VIEW IF NOT EXISTS {{db}}.superseded_policies {{onCluster}}
AS
SELECT older.policy AS policy, newer.policy AS by_policy
FROM (SELECT policy, max(since) AS in_force FROM {{db}}.policies GROUP BY policy) AS older
CROSS JOIN (SELECT policy, max(since) AS in_force FROM {{db}}.policies GROUP BY policy) AS newer
WHERE older.in_force < newer.in_force
COMMENT 'Pairs of policies: the first is older than the second.';

-- A set of 128-bit hashes is a third of the size of one of ids and built twice as fast. No LIMIT BY and no join outside:
-- with them a reader's condition on started_at would not reach the index.
CREATE VIEW IF NOT EXISTS {{db}}.verdicts_current {{onCluster}}
AS
SELECT *
FROM {{db}}.verdicts FINAL
WHERE NOT (open_top AND interaction_id IN (SELECT interaction_id FROM {{db}}.shadowed))
    AND sipHash128(interaction_id, policy) NOT IN
    (
        SELECT sipHash128(v.interaction_id, s.policy)
        FROM {{db}}.verdicts AS v
        INNER JOIN {{db}}.superseded_policies AS s ON v.policy = s.by_policy
        WHERE v.policy IN (SELECT by_policy FROM {{db}}.superseded_policies)
    )
COMMENT 'One row per interaction: its verdict under the newest policy, or, while it has none there, under the newest that it has.';

CREATE VIEW IF NOT EXISTS {{db}}.scores_current {{onCluster}}
AS
SELECT
    interaction_id,
    policy,
    trace_id,
    conversation_id,
    started_at,
    assistant_id,
    agent_version,
    environment,
    task,
    model,
    score.criterion AS criterion,
    score.value AS value,
    score.passed AS passed,
    score.decided_by AS decided_by,
    score.abstained AS abstained,
    score.reason AS reason,
    score.details AS details
FROM {{db}}.verdicts_current
ARRAY JOIN scores AS score
COMMENT 'One row per criterion of verdicts_current.';
