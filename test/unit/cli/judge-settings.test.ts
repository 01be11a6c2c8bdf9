import { expect, test } from 'vitest';
import { judgePolicySettings } from '../../../src/cli/judge-settings.js';
import { readConfig } from '../../../src/config.js';

function policyOf(...judge: readonly string[]): string {
  const sets = ['model=m', ...judge].map((set) => `judge.${set}`);
  const result = readConfig({ env: {}, sets });
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return JSON.stringify(judgePolicySettings(result.config));
}

test('a judge of another class or revision has a policy of its own; one that is reached elsewhere has not', () => {
  const policy = policyOf();

  expect(policyOf('module=langchain-x', 'className=ChatX')).not.toBe(policy);
  expect(policyOf('module=langchain-x', 'className=ChatX')).not.toBe(policyOf('module=langchain-y', 'className=ChatX'));
  expect(policyOf('revision=2')).not.toBe(policy);
  expect(policyOf('baseUrl=http://127.0.0.1:11434/v1', 'apiKeyEnv=OTHER')).toBe(policy);
});

test('a judge as it was configured before classes were part of its policy keeps its policy', () => {
  expect(Object.keys(JSON.parse(policyOf()) as object)).toEqual([
    'model',
    'temperature',
    'useStructuredOutput',
    'promptVersion',
    'answerSchema',
    'maxPromptTokens',
    'maxCallsPerRequest',
    'together',
  ]);
});
