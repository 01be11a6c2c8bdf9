import { describe, expect, test } from 'vitest';
import { isJsonObject } from '../../../src/model/json.js';
import type { Interaction, ToolCall } from '../../../src/model/interaction.js';
import type { ResultUse } from '../../../src/score/utilization.js';
import { resultUses } from '../../../src/score/utilization.js';
import { corpusFolders, corpusSpans, scenarios } from '../../support/corpus.js';
import { interactionsOf } from '../../support/interactions.js';
import { call } from '../../support/score-builders.js';
import type { WrittenExchange } from './exchanges.js';
import { NOT_USED, USED_AND_STATED, USED_UNSTATED } from './exchanges.js';

/**
 * What truly happened in the turns of the corpora's scenarios, read by hand: by what the answer shows each call's result.
 * All instrumentations recorded the same scenarios.
 */
const SHOWN_BY: Readonly<Record<string, string>> = {
  a_single_tool: '14 and cloudy; the city and the unit were asked for',
  b_parallel_tools: 'of one call 14, of the other 21',
  b_parallel_tools_streaming: 'the same',
  c_sequential_tools: 'Marsby depot and the day; the code of the first call went into the second',
  d_tool_error_retry: 'R-5519 of the second call; the first failed',
  f_multi_turn: 'in the first turn 21, in the second 70; the third calls no tool',
  g_wrong_args: '14 and cloudy: the wrong city, but what the tool said about it',
  h_unicode_large: 'note-0001',
};

/** Every result that could be read was used; what was not captured, or failed, tells nothing. */
function truth(turn: Interaction, made: ToolCall): ResultUse {
  const isCaptured = made.resultStatus === 'captured' && made.argumentsStatus === 'captured' && !made.failed;
  return isCaptured && turn.query !== null && turn.answer !== null && says(made) ? 'used' : 'unknown';
}

/** Some record a failure as a result of text, and one its merging of results as a call of no content. */
function says({ result }: ToolCall): boolean {
  if (typeof result === 'string') return !result.includes('Invalid date');
  return isJsonObject(result) && Object.keys(result).length > 0;
}

function usesIn(turn: Interaction): readonly ResultUse[] {
  return resultUses(turn.toolCalls, { query: turn.query, answer: turn.answer, answerIsWhole: true });
}

describe.each(corpusFolders())('%s', (folder) => {
  test.each(scenarios(folder).filter((scenario) => scenario in SHOWN_BY))(
    'finds the used results of %s',
    (scenario) => {
      for (const turn of interactionsOf(corpusSpans(folder, scenario))) {
        expect(usesIn(turn)).toEqual(turn.toolCalls.map((made) => truth(turn, made)));
      }
    },
  );
});

test('takes no result for used when its answer is replaced by that of another scenario', () => {
  const turns = [
    'a_single_tool',
    'b_parallel_tools',
    'c_sequential_tools',
    'd_tool_error_retry',
    'f_multi_turn',
  ].flatMap((scenario) =>
    interactionsOf(corpusSpans('genai-semconv', scenario)).map((turn, i) => ({ turn, id: `${scenario[0]}${i}` })),
  );
  const found: string[] = [];
  for (const { turn, id } of turns.filter(({ turn }) => turn.toolCalls.length > 0)) {
    for (const other of turns) {
      const answer = other.turn.answer;
      if (resultUses(turn.toolCalls, { query: turn.query, answer, answerIsWhole: true }).includes('used')) {
        found.push(`${id} by ${other.id}`);
      }
    }
  }

  // a and b share 14 degrees in Lindholm; b, f0 and f2 share 21 degrees in Marsby; f1 and f2 share 70; all else is chance.
  expect(found).toEqual(
    ['a0 by a0', 'a0 by b0', 'b0 by a0', 'b0 by b0', 'b0 by f0', 'b0 by f2', 'c0 by c0', 'd0 by d0'].concat([
      'f0 by b0',
      'f0 by f0',
      'f0 by f2',
      'f1 by f1',
      'f1 by f2',
    ]),
  );
});

describe('of exchanges written by hand', () => {
  const count = (exchanges: readonly WrittenExchange[]) => {
    const uses = exchanges.map(({ query, answer, arguments: given, result }) =>
      resultUses([call('tool', { arguments: given, result })], { query, answer, answerIsWhole: true }).join(),
    );
    return (['used', 'not_stated', 'unknown'] as const).map((use) => uses.filter((each) => each === use).length);
  };

  test('all that state a value are found', () => {
    expect(count(USED_AND_STATED)).toEqual([20, 0, 0]);
  });

  test('none that leaves the result unused is taken for one that uses it', () => {
    expect(count(NOT_USED)).toEqual([0, 3, 9]);
  });

  test('some that use it in words of their own state nothing, so the rule must not reject', () => {
    expect(count(USED_UNSTATED)).toEqual([0, 5, 8]);
  });
});

test.runIf(process.env.UTILIZATION_TABLE === '1')('prints what it finds in each scenario', () => {
  const lines = corpusFolders().flatMap((folder) =>
    scenarios(folder).flatMap((scenario) =>
      interactionsOf(corpusSpans(folder, scenario)).map(
        (turn, i) => `${folder.padEnd(28)} ${scenario}#${i}: ${usesIn(turn).join(', ') || 'no calls'}`,
      ),
    ),
  );
  console.log(lines.join('\n'));
});
