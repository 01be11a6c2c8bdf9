-- Facts and judgements, one row each, so that nothing is ever half written.
--
-- A statement ends with a semicolon at the end of a line. Every statement can be run again, because two processes may
-- migrate at once and because a run can be cut off in the middle.
-- Placeholders: db, onCluster, settings, engine MergeTree(), engine ReplacingMergeTree(version column).

CREATE TABLE IF NOT EXISTS {{db}}.interactions {{onCluster}}
(
    `interaction_id` String COMMENT 'trace id, hyphen, id of the turn root span (seen or not)',
    `trace_id` String COMMENT '32 lowercase hex digits',
    `root_span_id` String COMMENT '16 lowercase hex digits',
    `conversation_id` String COMMENT 'recorded by the instrumentation, else made from the trace',
    `conversation_id_source` LowCardinality(String) COMMENT 'recorded or synthetic',
    `conversation_aliases` Array(String) COMMENT 'other conversation ids that the trace records',
    `user_id` Nullable(String) COMMENT 'end user, when recorded',
    `assistant_id` LowCardinality(String) COMMENT 'name of the agent; the service name when the agent has none',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'version of the agent, when recorded',
    `environment` LowCardinality(Nullable(String)) COMMENT 'deployment environment, when recorded',
    `task` LowCardinality(Nullable(String)) COMMENT 'label of the kind of task, when recorded',
    `case_id` Nullable(String) COMMENT 'id of the evaluation case, when recorded',
    `model` LowCardinality(Nullable(String)) COMMENT 'model that answered, when recorded',
    `dialect` LowCardinality(String) COMMENT 'instrumentation convention of the spans',
    `started_at` DateTime64(3, 'UTC') COMMENT 'start of the turn root span once it was seen, else of the earliest span',
    `ended_at` DateTime64(3, 'UTC') COMMENT 'latest end in the turn',
    `revision` UInt32 COMMENT 'evidence: 1 per unended and 2 per ended span; the row with more evidence wins',
    `open_top` Bool COMMENT 'the topmost span names a parent that never came',
    `input_tokens` Nullable(UInt64) COMMENT 'sum over the turn; NULL when not recorded',
    `output_tokens` Nullable(UInt64) COMMENT 'sum over the turn; NULL when not recorded',
    `query` Nullable(String) COMMENT 'what the user asked; NULL when not captured' CODEC(ZSTD(1)),
    `answer` Nullable(String) COMMENT 'what the agent answered; NULL when not captured' CODEC(ZSTD(1)),
    `interrupted` Bool COMMENT 'the run stopped to wait for a person',
    `tool_calls.position` Array(UInt32) COMMENT '0-based, in order of issue',
    `tool_calls.call_id` Array(Nullable(String)) COMMENT 'as recorded; some frameworks repeat ids, so it is no key',
    `tool_calls.name` Array(LowCardinality(String)) COMMENT 'name of the tool',
    `tool_calls.arguments` Array(Nullable(String)) COMMENT 'JSON text; a JSON string of the raw text when truncated or malformed; NULL when not captured' CODEC(ZSTD(1)),
    `tool_calls.arguments_status` Array(LowCardinality(String)) COMMENT 'captured, not_captured, truncated or malformed',
    `tool_calls.result` Array(Nullable(String)) COMMENT 'JSON text; NULL when not captured' CODEC(ZSTD(1)),
    `tool_calls.result_status` Array(LowCardinality(String)) COMMENT 'captured, not_captured or truncated',
    `tool_calls.error` Array(Nullable(String)) COMMENT 'error text of the tool, when recorded' CODEC(ZSTD(1)),
    `tool_calls.failed` Array(Bool) COMMENT 'the call failed',
    `tool_calls.pending` Array(Bool) COMMENT 'the call waits for a person: neither failed nor scored',
    `tool_calls.owner` Array(LowCardinality(Nullable(String))) COMMENT 'agent that made the call, when recorded',
    `tool_calls.by_root` Array(Bool) COMMENT 'made by the agent of the turn root, or no owner is known',
    `tool_calls.started_at` Array(Nullable(DateTime64(3, 'UTC'))) COMMENT 'NULL without a span of the tool',
    `tool_calls.ended_at` Array(Nullable(DateTime64(3, 'UTC'))) COMMENT 'NULL without a span of the tool, or when it has not ended',
    `tool_calls.offer` Array(LowCardinality(String)) COMMENT 'whether the model was offered this tool: unknown, not_offered or offered',
    `tool_calls.schema` Array(Nullable(String)) COMMENT 'JSON Schema of the arguments as offered; NULL when not recorded' CODEC(ZSTD(1)),
    `tool_calls.free_text` Array(Bool) COMMENT 'the tool takes any text',
    `tool_calls.provider_executed` Array(Bool) COMMENT 'the model provider ran the tool itself',
    `handoffs.from` Array(Nullable(String)) COMMENT 'agent that gave control away, when recorded',
    `handoffs.to` Array(Nullable(String)) COMMENT 'agent that took control, when recorded',
    `coverage` Array(LowCardinality(String)) COMMENT 'what the instrumentation did not record, or what happened to the record',
    `expectation` Nullable(String) COMMENT 'JSON text of the ground truth that stood on the spans; NULL without' CODEC(ZSTD(1)),
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store',
    INDEX by_interaction_id interaction_id TYPE bloom_filter(0.01),
    INDEX by_trace_id trace_id TYPE bloom_filter(0.01),
    INDEX by_conversation_id conversation_id TYPE bloom_filter(0.01),
    INDEX by_written_at written_at TYPE minmax
)
ENGINE = {{engine ReplacingMergeTree(revision)}}
PARTITION BY toYYYYMM(started_at)
ORDER BY (toDate(started_at), interaction_id)
SETTINGS {{settings}}
COMMENT 'One row per user turn and revision; facts only. Read interactions_current.';

CREATE TABLE IF NOT EXISTS {{db}}.verdicts {{onCluster}}
(
    `interaction_id` String COMMENT 'as in interactions',
    `policy` LowCardinality(String) COMMENT 'scoring policy: hash of everything that decides a verdict except expectations',
    `version` UInt64 COMMENT 'revision x 256 + (255 - outstanding criteria); the greatest wins, on a tie the later insert',
    `revision` UInt32 COMMENT 'revision of the interaction that was judged',
    `verdict` LowCardinality(String) COMMENT 'correct, incorrect or unscored',
    `neutral` Bool COMMENT 'no criterion applied: it does not count in its conversation',
    `left_out` Bool COMMENT 'sampling or the budget left its conversation out',
    `outstanding` UInt8 COMMENT 'number of criteria that should have been scored and were not yet',
    `scores.criterion` Array(LowCardinality(String)) COMMENT 'tools, arguments, answer, completion or policy',
    `scores.value` Array(Nullable(Float64)) COMMENT '0 to 1, higher is better; NULL when abstained',
    `scores.passed` Array(Nullable(Bool)) COMMENT 'NULL when abstained',
    `scores.decided_by` Array(LowCardinality(Nullable(String))) COMMENT 'rule, cache or judge; NULL when abstained',
    `scores.abstained` Array(LowCardinality(Nullable(String))) COMMENT 'why there is no value; NULL when scored',
    `scores.reason` Array(String) COMMENT 'one sentence for a person' CODEC(ZSTD(1)),
    `scores.details` Array(String) COMMENT 'JSON text of an object' CODEC(ZSTD(1)),
    `assistant_id` LowCardinality(String) COMMENT 'as in interactions',
    `agent_version` LowCardinality(Nullable(String)) COMMENT 'as in interactions',
    `environment` LowCardinality(Nullable(String)) COMMENT 'as in interactions',
    `task` LowCardinality(Nullable(String)) COMMENT 'as in interactions',
    `model` LowCardinality(Nullable(String)) COMMENT 'as in interactions',
    `conversation_id` String COMMENT 'as in interactions',
    `trace_id` String COMMENT 'as in interactions',
    `started_at` DateTime64(3, 'UTC') COMMENT 'as in interactions',
    `ended_at` DateTime64(3, 'UTC') COMMENT 'as in interactions',
    `open_top` Bool COMMENT 'as in interactions',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store',
    INDEX by_interaction_id interaction_id TYPE bloom_filter(0.01),
    INDEX by_trace_id trace_id TYPE bloom_filter(0.01),
    INDEX by_conversation_id conversation_id TYPE bloom_filter(0.01),
    INDEX by_written_at written_at TYPE minmax
)
ENGINE = {{engine ReplacingMergeTree(version)}}
PARTITION BY toYYYYMM(started_at)
ORDER BY (toDate(started_at), interaction_id, policy)
SETTINGS {{settings}}
COMMENT 'One row per interaction, scoring policy and version. Read verdicts_current.';

CREATE TABLE IF NOT EXISTS {{db}}.policies {{onCluster}}
(
    `policy` String COMMENT 'scoring policy, as in verdicts',
    `since` DateTime64(3, 'UTC') COMMENT 'when it came into force; the policy in force is the one with the latest since',
    `settings` String COMMENT 'JSON text of everything that the policy stands for' CODEC(ZSTD(1))
)
ENGINE = {{engine ReplacingMergeTree()}}
ORDER BY (policy, since)
SETTINGS {{settings}}
COMMENT 'Scoring policies; one that comes back into force has another row.';

CREATE TABLE IF NOT EXISTS {{db}}.rejections {{onCluster}}
(
    `at` DateTime64(3, 'UTC') COMMENT 'when it was refused',
    `source` LowCardinality(String) COMMENT 'where it came from: otlp_http, kafka, file, store, ...',
    `reason` LowCardinality(String) COMMENT 'one of a small fixed set',
    `detail` String COMMENT 'what and where; never content' CODEC(ZSTD(1)),
    `spans` UInt64 COMMENT 'how many spans were lost by it; 0 for a warning',
    `written_at` DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'when this row was inserted, by the clock of the store'
)
ENGINE = {{engine MergeTree()}}
PARTITION BY toYYYYMM(at)
ORDER BY (at, source, reason)
SETTINGS {{settings}}
COMMENT 'What was received or computed and could not be used.';

CREATE TABLE IF NOT EXISTS {{db}}.heartbeats {{onCluster}}
(
    `worker` String COMMENT 'the process that writes',
    `source` LowCardinality(String) COMMENT 'ordered log that it reads: spool, or topic/partition',
    `at` DateTime64(3, 'UTC') COMMENT 'when it was written, by the clock of the worker',
    `stream_time` DateTime64(3, 'UTC') COMMENT 'largest receive time seen in the source',
    `lag_ms` UInt64 COMMENT 'how far stream time is behind the clock of the worker, in milliseconds',
    `details` String COMMENT 'JSON text: counters of the worker' CODEC(ZSTD(1))
)
ENGINE = {{engine MergeTree()}}
PARTITION BY toYYYYMM(at)
ORDER BY (worker, source, at)
TTL toDateTime(at) + INTERVAL 30 DAY
SETTINGS {{settings}}
COMMENT 'Signs of life of the workers: how far each has read.';
