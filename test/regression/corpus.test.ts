import { describe, expect, test } from 'vitest';
import { corpusExpected, corpusFolders, corpusSpans, corpusTable, isWhole, scenarios } from '../support/corpus.js';
import { compareConversations } from '../support/expectations.js';
import { readFixture } from '../support/fixture.js';
import { decodeSpans, interactionsOf } from '../support/interactions.js';

describe.each(corpusFolders().filter(isWhole))('%s', (folder) => {
  test.each(scenarios(folder))('tells what truly happened in %s', (scenario) => {
    const interactions = interactionsOf(corpusSpans(folder, scenario));

    expect(compareConversations(interactions, corpusExpected(folder, scenario))).toEqual([]);
  });
});

test.each(scenarios('genai-semconv'))('reads %s in protobuf as in JSON', (scenario) => {
  const spans = decodeSpans(readFixture(`corpus/genai-semconv/${scenario}.pb`), 'protobuf');

  expect(compareConversations(interactionsOf(spans), corpusExpected('genai-semconv', scenario))).toEqual([]);
});

/** Folders of other instrumentations that follow the conventions closely enough to need no dialect of their own yet. */
const FOLLOWERS = ['agent-framework', 'openai-agents', 'pydantic-ai', 'semantic-kernel', 'strands', 'strands-py'];

describe.each(FOLLOWERS)('%s, by the frame alone', (folder) => {
  test.each(scenarios(folder))('tells what truly happened in %s', (scenario) => {
    const interactions = interactionsOf(corpusSpans(folder, scenario));

    expect(compareConversations(interactions, corpusExpected(folder, scenario))).toEqual([]);
  });
});

test.runIf(process.env.CORPUS_TABLE === '1')('prints how far each folder is read', () => {
  console.log(corpusTable(corpusFolders()));
});
