import { expect, test } from 'vitest';
import { runCli } from '../../support/cli.js';

test.each([
  [['--role', 'rollup'], 'the role rollup needs the URL of a ClickHouse server in store.url'],
  [['--role', 'worker'], 'the role worker needs receive.kafka.brokers'],
  [['--role', 'relay'], 'the role relay needs receive.kafka.brokers'],
  [
    ['--role', 'worker', '--set', 'receive.kafka.brokers=[127.0.0.1:1]'],
    'the role worker needs the URL of a ClickHouse server in store.url',
  ],
  [['--set', 'receive.kafka.brokers=[nonsense]'], 'receive.kafka.brokers[0]: must be host:port, got "nonsense"'],
  [['--set', 'receive.kafka.sasl.mechanism=plain'], 'receive.kafka.sasl.username: must be set for the mechanism plain'],
  [
    ['--set', 'relay.fromTopics=[otlp_spans]'],
    'relay.fromTopics: must not hold relay.topic (otlp_spans): it would read what it writes',
  ],
  [
    ['--set', 'receive.kafka.brokers=[b:1]', '--set', 'receive.kafka.tls={enabled: true, caFile: /nowhere.pem}'],
    'receive.kafka.tls.caFile: cannot read /nowhere.pem: ENOENT',
  ],
  [
    ['--set', 'receive.kafka.tls.caFile=/nowhere.pem'],
    'receive.kafka.tls.enabled: must be true: a file for TLS is named',
  ],
  [
    ['--set', 'receive.kafka.tls={enabled: true, certFile: /nowhere.pem}'],
    'receive.kafka.tls.keyFile: must be set with certFile',
  ],
  [['--set', 'receive.kafka.sasl.username=me'], 'receive.kafka.sasl.mechanism: must not be none: sasl.username is set'],
  [
    ['--set', 'receive.kafka.deadLetterTopic=otlp_spans'],
    'receive.kafka.deadLetterTopic: must be a topic of its own, got otlp_spans',
  ],
  [
    ['--set', 'relay.fromTopics=[tracegrade_dead_letters]'],
    'receive.kafka.deadLetterTopic: must be a topic of its own, got tracegrade_dead_letters',
  ],
  [['--set', 'receive.kafka.topics=[..]'], 'receive.kafka.topics[0]: letters, digits, ., _ and - only'],
])('start %j is wrong use: %s', async (args, message) => {
  const { status, stderr } = await runCli(['start', ...args]);

  expect({ status, said: stderr.includes(message) ? message : stderr }).toEqual({ status: 2, said: message });
});
