import { describe, expect, test } from 'vitest';
import type { ToolCall } from '../../../src/model/interaction.js';
import type { Json } from '../../../src/model/json.js';
import type { Exchange } from '../../../src/score/utilization.js';
import { resultUses } from '../../../src/score/utilization.js';
import { call } from '../../support/score-builders.js';

const asked: Exchange = { query: 'How warm is it?', answer: 'It is 14 degrees.', answerIsWhole: true };

function uses(calls: readonly ToolCall[], changes: Partial<Exchange> = {}): readonly string[] {
  return resultUses(calls, { ...asked, ...changes });
}

const use = (result: Json, answer: string, changes: Partial<ToolCall> = {}, query = 'How is it?') =>
  uses([call('tool', { result, ...changes })], { answer, query })[0];

describe('a value is found as people write it', () => {
  test.each<[Json, string]>([
    [1234.5, 'It costs 1,234.50 dollars.'],
    [1234.5, 'Es kostet 1.234,50 €.'],
    [1234.5, 'Cela coûte 1\u202f234,5 €.'],
    [1234.5, "Es kostet CHF 1'234.50."],
    [-12, 'It fell by 12 points.'],
    [0.25, 'That is 25%.'],
    [0.25, 'That is 25 %.'],
    [22.64, 'About 23.'],
    [22.64, 'It is 22.6.'],
    [1234, 'About 1,200 people.'],
    [48_000, 'Some 48k lines.'],
    ['2031-03-03', 'On March 3, 2031.'],
    ['2031-03-03', 'On the 3rd of March.'],
    ['2031-03-03', 'On 3 Mar.'],
    ['2031-03-03', 'Le 3 mars.'],
    ['2031-03-03', 'On 03/03/2031.'],
    ['2031-03-03', '三月, 2031年3月3日.'],
    ['2031-03-03T17:45:00Z', 'At 5:45 pm.'],
    ['17:45', 'Um 17:45 Uhr.'],
    ['12:00', 'At noon.'],
    ['in_transit', 'It is **in transit**.'],
    ['inTransit', 'In-transit since noon.'],
    ['Ångström Café', 'Go to angstrom cafe!'],
    ['東京駅', '次は東京駅です。'],
    ['R-5519', 'Confirmation `R-5519`.'],
    ['0042', 'Your code is 0042.'],
    ['9007199254740993', 'It is number 9007199254740993.'],
    [{ available: true }, 'Yes, it is available.'],
    [{ isAvailable: false }, 'It is unavailable.'],
    [{ shipped: false }, 'It has not yet been shipped.'],
  ])('%j in %j', (result, answer) => {
    expect(use(result, answer)).toBe('used');
  });

  test.each<[Json, string]>([
    [12, 'In 2012 it was 112.5, or 12.5, or 1,012.'],
    [12.5, 'It was 112.5.'],
    [5519, 'Confirmation R-5519.'],
    [19, 'A case of Covid-19.'],
    [5, 'On June 5 at 5:00.'],
    [2, '1. Wash it.\n2. Dry it.'],
    [2, '**1.** Wash it.\n**2. Dry** it.'],
    [2, '### 1. Wash it.\n### 2. Dry it.'],
    [2, 'Step 1: Wash it.\nStep 2: Dry it.'],
    ['2031-03-03', 'On 3 March 2030.'],
    ['2031-03-03', 'On March 30.'],
    ['art', 'Start there.'],
    [{ available: true }, 'It is not available.'],
    [{ available: false }, 'It is available.'],
    [{ available: true }, 'It is neither open nor available.'],
    [{ state: 'shipped' }, 'It has not been shipped.'],
    ['ok', 'Everything is ok.'],
  ])('%j not in %j', (result, answer) => {
    expect(use(result, answer)).not.toBe('used');
  });
});

describe('what was known before is no evidence', () => {
  test('a value of the query, of the arguments, or of the arguments of an earlier call', () => {
    expect(use({ city: 'Lindholm' }, 'Nothing about Lindholm.', {}, 'What about Lindholm?')).toBe('unknown');
    expect(use({ size: 14 }, 'For 14 people.', { arguments: { party: 14 } })).toBe('unknown');
    const later = call('tool', { result: { size: 14 } });
    expect(uses([call('first', { arguments: { party: 14 } }), later])).toEqual(['unknown', 'unknown']);
  });

  test('a value in arguments too long to be read whole', () => {
    const given = { body: `${'long text '.repeat(2000)} Copper Kettle` };

    expect(use({ title: 'Copper Kettle' }, 'Saved “Copper Kettle”.', { arguments: given })).toBe('unknown');
    expect(use({ id: 'note-0001' }, 'Saved as note-0001.', { arguments: given })).toBe('used');
  });
});

describe('where nothing can be said', () => {
  const warm = call('get_weather', { result: { temperature: 14 } });

  test.each<[string, Partial<ToolCall>]>([
    ['the call failed', { failed: true, error: 'no such city: 14' }],
    ['the call waits', { pending: true }],
    ['the result was not captured', { result: null, resultStatus: 'not_captured' }],
    ['the arguments were not captured', { arguments: null, argumentsStatus: 'not_captured' }],
    ['the arguments were cut', { arguments: '{"city":"Li', argumentsStatus: 'truncated' }],
    ['the result is empty', { result: {} }],
    ['the result only says that it went well', { result: { success: true, status: 'OK' } }],
    [
      'the result is prose without values',
      { result: 'It went as such things go when nobody looks after them. '.repeat(9) },
    ],
  ])('%s', (_why, changes) => {
    expect(uses([{ ...warm, ...changes }])).toEqual(['unknown']);
    expect(uses([{ ...warm, ...changes }], { answer: 'I do not know.' })).toEqual(['unknown']);
  });

  test('the query or the answer was not captured', () => {
    expect(uses([warm], { query: null })).toEqual(['unknown']);
    expect(uses([warm], { answer: null })).toEqual(['unknown']);
    expect(uses([warm], { answer: ' ' })).toEqual(['unknown']);
  });

  test('a cut answer or result may still show a use, never the lack of one', () => {
    const cut = call('tool', { result: '{"temperature":14,"hours":[{"h":0,"t":14', resultStatus: 'truncated' });

    expect(uses([cut])).toEqual(['used']);
    expect(uses([cut], { answer: 'I do not know.' })).toEqual(['unknown']);
    expect(uses([warm], { answer: 'I do not know', answerIsWhole: false })).toEqual(['unknown']);
    expect(uses([warm], { answer: 'I do not know' })).toEqual(['not_stated']);
    // The last number may have gone on.
    expect(uses([{ ...cut, result: 'temperature: 14' }])).toEqual(['unknown']);
  });

  test('the answer states another number, which may be computed from it', () => {
    expect(uses([warm], { answer: 'It is 57.2 °F.' })).toEqual(['unknown']);
  });
});

test('a result that only went into a later call is used if that call’s result is', () => {
  const lookup = call('lookup_order', { arguments: { order: 7 }, result: { code: 'TRK-77-310' } });
  const track = call('track', { arguments: { code: 'TRK-77-310' }, result: { depot: 'Marsby depot' } });

  expect(uses([lookup, track], { answer: 'It is at the Marsby depot.' })).toEqual(['used', 'used']);
  expect(uses([lookup, track], { answer: 'I do not know.' })).toEqual(['unknown', 'unknown']);
});

test('among many values, digits, years and plain words are no evidence, others are', () => {
  const rows = Array.from({ length: 20 }, (_, i) => ({ rank: i, year: 2000 + i, state: 'open', price: 100.5 + i }));

  expect(use(rows, 'I would open 3 of them in 2011.')).toBe('unknown');
  expect(use(rows, 'The price is 103.50.')).toBe('used');
});

test('JSON inside the texts of a result is read', () => {
  expect(use({ content: [{ type: 'text', text: '{"rows":[[418,7.25]]}' }] }, '418 orders.')).toBe('used');
});

test('of a long result only the first part is read', () => {
  const filler = 'and so it went on and on. ';

  expect(use(`${filler}It was 418. ${filler.repeat(4000)}`, '418 orders.')).toBe('used');
  expect(use(`${filler.repeat(4000)}It was 418.`, '418 orders.')).toBe('unknown');
});

test('a word that the answer denies in one place and states in another is stated', () => {
  expect(use({ state: 'shipped' }, 'It was not shipped on Monday; now it is shipped.')).toBe('used');
});

test('a word that the query denies was known before', () => {
  expect(use({ owner: 'Bob' }, 'It belongs to Bob.', {}, 'Is it not Bob?')).not.toBe('used');
});

test('of a million records that hold nothing only the first ones are looked at', () => {
  let read = 0;
  const empty = Object.defineProperty({}, 'state', { enumerable: true, get: () => ((read += 1), null) });

  expect(use(Array.from({ length: 1_000_000 }, () => empty) as readonly Json[], 'It is 14 degrees.')).toBe('unknown');
  expect(read).toBeLessThan(20_000);
});
