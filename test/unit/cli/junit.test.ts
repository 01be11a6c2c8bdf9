import { expect, test } from 'vitest';
import type { Batch } from '../../../src/batch/agentic-metric.js';
import { createAgentic } from '../../../src/batch/agentic.js';
import { attribute, conversationSuite, gateSuite, JUNIT_HEAD, JUNIT_TAIL } from '../../../src/cli/junit.js';

const turn = (qa_id: string, changes: Partial<Batch> = {}): Batch => ({
  qa_id,
  query: '5 + 3?',
  assistant: '8',
  ground_truth_assistant: '8',
  ...changes,
});

test('writes a suite a conversation, a test case an interaction, and the gates', async () => {
  const metric = await createAgentic({ k: 3 }).evaluate({
    session_id: 'a "quoted" <session>',
    assistant_id: 'R&D',
    conversation: [
      turn('right'),
      turn('wrong', {
        agentic: { tools_used: [{ tool_name: "rm\u0000 '&" }] },
        ground_truth_agentic: { expected_tools: [{ tool_name: 'ls' }] },
      }),
      turn('undecided', { ground_truth_assistant: 'It is eight, of course.' }),
      { query: 'Hello', assistant: 'Hi' },
    ],
  });
  if (metric === null) throw new Error('left out');

  const text = [
    JUNIT_HEAD,
    conversationSuite(metric),
    gateSuite([
      { name: 'tools >= 1', missed: 'the mean of tools is 0.0000, below 1' },
      { name: 'correct >= 0.2', missed: null },
    ]),
    JUNIT_TAIL,
  ].join('');

  expect(text).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tracegrade evaluate">
  <testsuite name="R&amp;D a &quot;quoted&quot; &lt;session&gt;" tests="4" failures="1" errors="0" skipped="2">
    <testcase classname="a &quot;quoted&quot; &lt;session&gt;" name="right"/>
    <testcase classname="a &quot;quoted&quot; &lt;session&gt;" name="wrong">
      <failure message="✗ Tool selection: used {'rm\uFFFD '&amp;'}, expected {'ls'}; ✗ Parameters: incorrect (0.00); ✗ Sequence: incorrect (0.00); – Utilization: not stated"/>
    </testcase>
    <testcase classname="a &quot;quoted&quot; &lt;session&gt;" name="undecided">
      <skipped message="only a judge can compare free text"/>
    </testcase>
    <testcase classname="a &quot;quoted&quot; &lt;session&gt;" name="interaction 4">
      <skipped message="nobody said what is expected"/>
    </testcase>
  </testsuite>
  <testsuite name="gates" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="gates" name="tools &gt;= 1">
      <failure message="the mean of tools is 0.0000, below 1"/>
    </testcase>
    <testcase classname="gates" name="correct &gt;= 0.2"/>
  </testsuite>
</testsuites>
`);
});

test('keeps line ends and tabs, and replaces what XML cannot hold', () => {
  expect(attribute('a\tb\nc\rd')).toBe('a&#9;b&#10;c&#13;d');
  expect(attribute('\u0000\u0001\u000b\u001f\ufffe\uffff\ud800')).toBe('\ufffd'.repeat(7));
  expect(attribute('\u0085\u{1F600}é')).toBe('\u0085\u{1F600}é');
});
