// Writes the tables of docs/gaussia.md, between its markers, from what dist/ computes; with --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { BayesianMode, FrequentistMode, createAgentic, estimate } from '../dist/index.js';

const page = new URL('../docs/gaussia.md', import.meta.url);
const fixture = new URL('../test/fixtures/vectors/gaussia.json', import.meta.url);
const { vectors } = JSON.parse(readFileSync(fixture, 'utf8'));

/** Why the default differs, for every vector whose recorded value is not worth keeping. */
const WHY = {
  'tool-03-utilization-missing-defaults-false':
    'nobody said whether the results were used, so that part does not apply',
  'tool-04-sequence-defaults-true': 'one call is in order, whatever its step is called',
  'tool-15-duplicate-call-not-penalised': 'the surplus call is named in `extra`',
  'tool-16-two-calls-same-tool-perfect': 'each expected call is paired with its own made call, not with the first',
  'tool-17-three-calls-same-tool-perfect': 'as above',
  'tool-18-second-call-missing': 'the missing call is named in `missing`',
  'tool-19-second-call-missing-no-steps': 'a call that was not made earns nothing',
  'tool-20-wrong-order-no-steps': 'without steps the order of the list counts',
  'tool-21-wrong-order-steps-swapped': 'one of two calls is in order: longest common subsequence',
  'tool-22-steps-shifted-by-one': 'the order counts, not the labels',
  'tool-23-trace-has-no-steps': 'the order counts, not the labels',
  'tool-25-no-expected-tools-used-some': 'nothing was expected, so parameters and sequence do not apply',
  'tool-26-no-expected-tools-used-some-seq-false': 'nothing was expected, so parameters do not apply',
  'tool-27-nothing-expected-nothing-used': 'rightly calling nothing is right',
  'tool-28-expected-none-used':
    'a direct call gives 0, and so do we; its `run()` gives null, which counts as no failure',
  'tool-29-none-valued-param-equals-absent': 'a null that was expected is not a missing key',
  'tool-31-bool-equals-int': 'true is not 1',
  'tool-37-parameters-null-vs-object': 'null parameters are matched by name alone',
  'tool-39-missing-tool-name-both': 'a misspelt key is a fault of the data, not a perfect score',
  'tool-40-final-answer-truthy-string': 'the text "false" is no boolean',
  'tool-43-weights-sum-below-1-by-float': 'weights are normalised and the threshold has a tolerance of 1e-9',
  'tool-44-weights-sum-above-1-by-float': 'as above',
  'tool-45-weights-not-normalised-sum-4': 'weights are normalised',
  'tool-46-weights-not-normalised-sum-half': 'weights are normalised',
  'tool-47-weights-missing-key': 'refused before anything is scored',
  'tool-52-missing-tool-params-counted-once': 'every missing call counts',
  'tool-53-empty-gt-agentic': 'no `expected_tools` is no statement; an empty list says that none is expected',
  'pass-empty': 'undefined without trials',
  'pass-c-gt-n': 'more successes than trials are refused',
  'pass-k0-partial': 'K < 1 is refused',
  'pass-k0-none': 'K < 1 is refused',
  'pass-k0-all': 'K < 1 is refused',
  'pass-k-negative': 'K < 1 is refused',
  'process-03-tool-failure-ignored': 'wrong tools make the interaction incorrect',
  'process-04-no-tool-used-null': 'an expected tool that was not called is a failure',
  'process-07-judge-none': 'a judge that says nothing has not called the answer wrong',
  'process-08-judge-raises': 'an outage of the judge is no failure of the agent',
  'process-09-judge-dict-missing-key': 'a verdict without a score is rejected',
  'process-10-judge-out-of-range': 'a score outside 0..1 is rejected',
  'process-11-judge-string-score': 'a score that is no number is rejected',
  'process-12-empty-conversation': 'a conversation without turns says nothing',
  'process-13-empty-dataset': 'an empty data set has no metrics, and that is no error',
  'process-15-bayes-same-counts-twice': 'equal counts have equal figures: exact, no draws',
  'process-16-bayes-empty-conversation': 'a conversation without turns says nothing',
  'process-17-bayes-1-of-1': 'exact instead of 5000 draws',
};

const TOOL_FIELDS = {
  tool_selection_correct: 'selection',
  parameter_accuracy: 'parameters',
  sequence_correct: 'sequence',
  result_utilization: 'utilization',
  overall_correctness: 'overall',
  is_correct: 'is_correct',
};
const METRIC_FIELDS = [
  'correctness_scores',
  'correct_interactions',
  'is_fully_correct',
  'pass_at_k',
  'pass_at_k_ci_low',
  'pass_at_k_ci_high',
  'pass_pow_k',
  'pass_pow_k_ci_low',
  'pass_pow_k_ci_high',
];

const shown = (value) => (typeof value === 'number' ? String(Number(value.toFixed(4))) : JSON.stringify(value));
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const same = (a, b) =>
  typeof a === 'number' && typeof b === 'number' ? Math.abs(a - b) < 1e-12 : JSON.stringify(a) === JSON.stringify(b);

/** The fields in which the two differ, of each. */
function differing(gaussia, ours, names) {
  const fields = Object.entries(names).filter(([field]) => !same(gaussia[field], ours[field]));
  const list = (of) => fields.map(([field, name]) => `${name} ${shown(of[field])}`).join(', ') || 'the same figures';
  return [list(gaussia), list(ours)];
}

async function toolRow({ input, options = {}, expected, error }) {
  const gaussia = expected ?? {};
  const faults = [];
  let score;
  try {
    const agentic = createAgentic({
      k: 1,
      judge: () => Promise.resolve(1),
      onFaults: (found) => faults.push(...found),
      ...(options.tool_weights && { toolWeights: options.tool_weights }),
    });
    const metric = await agentic.evaluate({ session_id: 's', conversation: [input] });
    score = metric?.tool_correctness_scores[0];
  } catch (refusal) {
    faults.push({ problem: refusal.message });
  }
  const all = (of) =>
    Object.entries(TOOL_FIELDS)
      .filter(([field]) => field === 'overall_correctness' || field === 'is_correct')
      .map(([field, name]) => `${name} ${shown(of[field])}`)
      .join(', ');
  const theirs = error ? `ends with ${error.type}` : all(gaussia);
  if (faults.length > 0) return [theirs, `refused: ${faults[0].problem}`];
  if (!score) return [theirs, 'not scored'];
  if (error) return [theirs, all(score)];
  const [before, after] = differing(gaussia, score, TOOL_FIELDS);
  const named = ['missing', 'extra'].filter((list) => score[list].length > 0);
  return [before, [after, ...named.map((list) => `${list} ${JSON.stringify(score[list])}`)].join(', ')];
}

function passRow({ input: { n, c, k }, expected }) {
  const before = `pass@K ${shown(expected.pass_at_k)}, pass^K ${shown(expected.pass_pow_k)}`;
  try {
    const { pass_at_k, pass_pow_k } = new FrequentistMode().figures(n, c, k);
    return [before, `pass@K ${shown(pass_at_k.mean)}, pass^K ${shown(pass_pow_k.mean)}`];
  } catch (refusal) {
    return [before, `refused: ${refusal.message}`];
  }
}

async function processRow({ input, options, expected, error }) {
  const judgements = input.conversations.flat().map((turn) => turn.judge_result);
  const agentic = createAgentic({
    k: options.k,
    threshold: options.threshold,
    statisticalMode: options.mode.startsWith('bayesian') ? new BayesianMode() : new FrequentistMode(),
    judge() {
      const next = judgements.shift();
      if (typeof next === 'string') return Promise.reject(new Error(next));
      return Promise.resolve(typeof next === 'object' ? next?.correctness_score : next);
    },
  });
  const metrics = [];
  for (const [i, turns] of input.conversations.entries()) {
    // Free text, so that no rule decides before the judge.
    const conversation = turns.map(({ judge_result: _, ...batch }) => ({
      assistant: 'A free text.',
      ground_truth_assistant: 'Some free text.',
      ...batch,
    }));
    metrics.push(await agentic.evaluate({ session_id: `s${i + 1}`, assistant_id: 'a', conversation }));
  }
  if (error) return [`ends with ${error.type}`, `${metrics.length} metrics`];
  const names = Object.fromEntries(METRIC_FIELDS.map((field) => [field, field]));
  const parts = metrics.map((metric, i) => differing(expected[i], metric, names));
  const told = parts.map((pair, i) => [i, pair]).filter(([, [before]]) => before !== 'the same figures');
  const side = (which) =>
    told.map(([i, pair]) => (metrics.length > 1 ? `s${i + 1}: ${pair[which]}` : pair[which])).join('; ');
  return [side(0), side(1)];
}

const ROWS = { tool: toolRow, pass: passRow, process: processRow };

async function differences() {
  const quirks = vectors.filter(({ quirk }) => quirk);
  const rows = [];
  for (const vector of quirks) {
    if (!WHY[vector.id]) throw new Error(`scripts/gaussia-page.mjs does not say why ${vector.id} differs`);
    const [theirs, ours] = await ROWS[vector.kind](vector);
    rows.push(`| ${vector.id} | ${cell(theirs)} | ${cell(ours)} | ${WHY[vector.id]} |`);
  }
  return ['| vector | Gaussia v1.0.0 | Tracegrade | why |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** pass@3 and pass^3 of counts: exact mean and interval. */
function exact(trials, correct, level = 0.95) {
  const { pass_at_k, pass_pow_k } = new BayesianMode({ level }).figures(trials, correct, 3);
  const interval = ({ low, high }) => `[${low.toFixed(4)}, ${high.toFixed(4)}]`;
  return {
    at: pass_at_k.mean.toFixed(4),
    atInterval: interval(pass_at_k),
    pow: pass_pow_k.mean.toFixed(4),
    powInterval: interval(pass_pow_k),
  };
}

function sevenOfTen() {
  const { pass_at_k, pass_pow_k } = new FrequentistMode().figures(10, 7, 3);
  const ours = exact(10, 7);
  const rows = [
    ['frequentist pass@3', '0.973', pass_at_k.mean.toFixed(4), 'right'],
    ['frequentist pass^3', '0.343', pass_pow_k.mean.toFixed(4), 'right'],
    ['Bayesian pass@3, mean', '0.960', ours.at, 'wrong: E[pass@3] = 1 - (4·5·6)/(12·13·14) = 86/91'],
    [
      'Bayesian pass@3, 95 %',
      '[0.820, 0.998]',
      ours.atInterval,
      `wrong: that is the 90 % interval, ${exact(10, 7, 0.9).atInterval}`,
    ],
    ['Bayesian pass^3, mean', '0.330', ours.pow, 'right: (8·9·10)/(12·13·14) = 30/91'],
    [
      'Bayesian pass^3, 95 %',
      '[0.126, 0.570]',
      ours.powInterval,
      `wrong: near the 80 % interval, ${exact(10, 7, 0.8).powInterval}`,
    ],
  ];
  return table(['figure', 'page', 'Tracegrade', ''], rows);
}

function fiveAndHundred() {
  const of = (trials, correct) => exact(trials, correct);
  const rows = [
    ['5 conversations', '0.90 [0.55, 0.99]', '3 of 5', `${of(5, 3).at} ${of(5, 3).atInterval}`],
    ['', '', '4 of 5', `${of(5, 4).at} ${of(5, 4).atInterval}`],
    ['100 conversations', '0.90 [0.84, 0.95]', '54 of 100', `${of(100, 54).at} ${of(100, 54).atInterval}`],
  ];
  return table(['evidence', 'page: pass@3', 'counts', 'Tracegrade: pass@3'], rows);
}

/** Ten conversations of ten turns, nine of them right: as turns, and as conversations. */
function turnsAndConversations() {
  const rules = { ks: [3], prior: { a: 1, b: 1 }, level: 0.95, mode: 'frequentist' };
  const figures = (trials, correct) =>
    estimate({ trials, correct, outstanding: 0, outstandingIncorrect: 0 }, rules).map(({ mean }) => mean.toFixed(4));
  const rows = [
    ['a turn (Gaussia’s figure)', '9 of 10', ...figures(10, 9)],
    ['a conversation', '0 of 10', ...figures(10, 0)],
  ];
  return table(['the trial is', 'correct', 'pass@3', 'pass^3'], rows);
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const blocks = {
  'seven-of-ten': sevenOfTen(),
  'five-and-hundred': fiveAndHundred(),
  'turns-and-conversations': turnsAndConversations(),
  differences: await differences(),
};
const before = readFileSync(page, 'utf8');
let text = before;
for (const [name, block] of Object.entries(blocks)) {
  const marked = new RegExp(`(<!-- made: ${name} -->)[^]*?(<!-- end -->)`);
  if (!marked.test(text)) throw new Error(`docs/gaussia.md has no place for ${name}`);
  text = text.replace(marked, (_, start, end) => `${start}\n\n${block}\n\n${end}`);
}
text = await format(text, { ...(await resolveConfig(page)), parser: 'markdown' });

if (process.argv.includes('--check')) {
  if (text !== before) {
    console.error('docs/gaussia.md is not what dist/ computes: run node scripts/gaussia-page.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(page, text);
}
