import { AIMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { describe, expect, test } from 'vitest';
import { DEFAULT_JUDGE_CONFIG, judgePolicy } from '../../../src/judge/config.js';
import { langChainModel, loadChatModel } from '../../../src/judge/langchain.js';

const asked = { arguments: ['call_0'], answer: false, completion: false, utilization: false };
const messages = [{ role: 'user', content: 'judge' }] as const;
const signal = new AbortController().signal;
const clock = { nowMs: () => 0 };
const ask = (model: Parameters<typeof langChainModel>[0]) =>
  langChainModel(model, { useStructuredOutput: false }, clock).ask(messages, asked, signal);

describe('another chat model', () => {
  test('is made by the names of its module and class', async () => {
    const model = await loadChatModel('@langchain/core/utils/testing', 'FakeListChatModel', { responses: ['{"a":1}'] });

    expect(await ask(model)).toMatchObject({ content: { text: '{"a":1}' } });
  });

  test.each([
    ['NoSuchModel', /exports no class NoSuchModel/],
    ['FakeTracer', /FakeTracer of .* is no chat model/],
  ])('%s is refused by name', async (name, message) => {
    await expect(loadChatModel('@langchain/core/utils/testing', name, {})).rejects.toThrow(message);
  });

  test('is read past its reasoning block', async () => {
    const model = new FakeListChatModel({ responses: [''] });
    const content = [
      { type: 'thinking', thinking: 'hm', text: 'hm' },
      { type: 'text', text: '{"a":' },
      { type: 'text', text: '1}' },
    ];
    model.invoke = () => Promise.resolve(new AIMessage({ content }) as never);

    expect(await ask(model)).toEqual({ content: { text: '{"a":1}' }, inputTokens: null, outputTokens: null });
  });

  test.each([
    [{ finish_reason: 'length' }, 'bad_answer'],
    [{ stop_reason: 'max_tokens' }, 'bad_answer'],
    [{ finish_reason: 'content_filter' }, 'refused'],
  ])('that stopped early (%o) is trouble', async (response_metadata, kind) => {
    const model = new FakeListChatModel({ responses: [''] });
    model.invoke = () => Promise.resolve(new AIMessage({ content: '{}', response_metadata }) as never);

    await expect(ask(model)).rejects.toMatchObject({ name: 'JudgeTrouble', kind });
  });
});

test('what decides verdicts makes another policy, and nothing else does', () => {
  const model = { model: 'm', client: null, revision: '', temperature: 0, useStructuredOutput: true };
  const { plan } = DEFAULT_JUDGE_CONFIG;
  const policies = [
    judgePolicy(model, plan),
    judgePolicy({ ...model, model: 'n' }, plan),
    judgePolicy({ ...model, client: '@langchain/anthropic ChatAnthropic' }, plan),
    judgePolicy({ ...model, revision: '2' }, plan),
    judgePolicy({ ...model, temperature: null }, plan),
    judgePolicy(model, { ...plan, together: 'turn' }),
    judgePolicy(model, { ...plan, maxPromptTokens: 8_000 }),
  ].map((policy) => JSON.stringify(policy));

  expect(new Set(policies).size).toBe(policies.length);
  expect(JSON.stringify(judgePolicy({ ...model }, { ...plan }))).toBe(policies[0]);
});
