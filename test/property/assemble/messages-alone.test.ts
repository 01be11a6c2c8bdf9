import { describe, expect, test } from 'vitest';
import { interpret } from '../../../src/interpret/interpret.js';
import { corpusExpected, corpusSpans, scenarios } from '../../support/corpus.js';
import { compareConversations } from '../../support/expectations.js';
import { interactionsOf } from '../../support/interactions.js';

/** Folders whose messages hold the calls and their results, as their notes say. */
const FOLDERS = [
  'genai-semconv',
  'genai-semconv-structured',
  'openinference-crewai',
  'openinference-langgraph',
  'openinference-llama-index',
  'openinference-openai',
  'openinference-openai-agents',
  'vercel-ai-v4',
  'vercel-ai-v6',
  'vercel-ai-v7',
];

/** A failed call shows in messages only as text that the framework made of the error. */
const WITHOUT_FAILURES = (scenario: string) => !scenario.startsWith('d_');

describe.each(FOLDERS)('%s', (folder) => {
  test.each(scenarios(folder).filter(WITHOUT_FAILURES))(
    'tells the calls and results of %s without its tool spans',
    (scenario) => {
      const spans = corpusSpans(folder, scenario).filter((span) => interpret(span).kind !== 'tool');

      expect(compareConversations(interactionsOf(spans), corpusExpected(folder, scenario))).toEqual([]);
    },
  );

  test.each(scenarios(folder))('tells the calls of %s without its model spans', (scenario) => {
    const spans = corpusSpans(folder, scenario).filter((span) => interpret(span).kind !== 'llm');
    const found = compareConversations(interactionsOf(spans), corpusExpected(folder, scenario));

    expect(found.filter((difference) => difference.startsWith('tools: '))).toEqual([]);
  });
});
