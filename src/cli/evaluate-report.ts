import type { AgenticMetric, AgenticSummary, ConversationsAsTrials } from '../batch/agentic-metric.js';
import { counted } from './counted.js';
import { conversationSuite, gateSuite, JUNIT_HEAD, JUNIT_TAIL, type GateResult } from './junit.js';
import { cut, plainTable } from './verdict-table.js';

export const EVALUATE_FORMATS = ['table', 'json', 'jsonl', 'junit'] as const;
export type EvaluateFormat = (typeof EVALUATE_FORMATS)[number];

/** The texts of a report, in the order in which they are written. */
export interface EvaluateReport {
  head(): string;
  conversation(metric: AgenticMetric): string;
  tail(summary: AgenticSummary, gates: readonly GateResult[]): string;
}

export function createReport(format: EvaluateFormat): EvaluateReport {
  switch (format) {
    case 'table':
      return tableReport();
    case 'json':
      return jsonReport();
    case 'jsonl':
      return { head: () => '', conversation: (metric) => `${JSON.stringify(metric)}\n`, tail: () => '' };
    case 'junit':
      return {
        head: () => JUNIT_HEAD,
        conversation: conversationSuite,
        tail: (_summary, gates) => `${gateSuite(gates)}${JUNIT_TAIL}`,
      };
  }
}

/** One object, `{"conversations": [...], "summary": {...}}`, a conversation a line. */
function jsonReport(): EvaluateReport {
  let separator = '\n';
  return {
    head: () => '{"conversations": [',
    conversation(metric) {
      const text = `${separator}${JSON.stringify(metric)}`;
      separator = ',\n';
      return text;
    },
    tail: (summary) => `\n],\n"summary": ${JSON.stringify(summary, null, 2)}}\n`,
  };
}

// More is no help to a reader, and a table is kept until it is whole.
const MOST_ROWS = 100;

/** All conversations if they are few, else those that are not correct. */
function tableReport(): EvaluateReport {
  const first: string[][] = [];
  const notCorrect: string[][] = [];
  let total = 0;
  return {
    head: () => '',
    conversation(metric) {
      total += 1;
      if (first.length < MOST_ROWS) first.push(rowOf(metric));
      if (notCorrect.length < MOST_ROWS && metric.is_fully_correct !== true) notCorrect.push(rowOf(metric));
      return '';
    },
    tail(summary) {
      const rows = total <= MOST_ROWS ? first : notCorrect;
      const lines = rows.length === 0 ? [] : [conversationTable(rows, summary.conversations_as_trials.k), ''];
      if (rows.length < total) {
        const { incorrect, unscored } = summary.conversations;
        lines.push(
          `${rows.length} of ${counted(incorrect + unscored, 'conversation that is', 'conversations that are')} not correct, of ${total}.`,
          '',
        );
      }
      return `${[...lines, ...summaryLines(summary)].join('\n')}\n`;
    },
  };
}

function conversationTable(rows: readonly string[][], k: number): string {
  const passes = [`pass@${k} of its turns`, `pass^${k} of its turns`];
  const table = plainTable(['session', 'agent', 'turns', 'correct', 'verdict', 'tools', ...passes, 'why']);
  table.push(...rows);
  return table.toString();
}

function rowOf(metric: AgenticMetric): string[] {
  const { is_fully_correct: fully, interactions } = metric;
  const tools = metric.tool_correctness_scores.flatMap((score) => score?.overall_correctness ?? []);
  const why = ['incorrect', 'unscored', 'neutral'].map((wanted) => interactions.find((one) => one.verdict === wanted));
  return [
    cut(metric.session_id, 28),
    cut(metric.assistant_id ?? '-', 18),
    String(metric.total_interactions),
    String(metric.correct_indices.length),
    fully === null ? 'unscored' : fully ? 'correct' : 'INCORRECT',
    tools.length === 0 ? '-' : shown(tools.reduce((sum, value) => sum + value, 0) / tools.length),
    interval(metric.pass_at_k, metric.pass_at_k_ci_low, metric.pass_at_k_ci_high),
    interval(metric.pass_pow_k, metric.pass_pow_k_ci_low, metric.pass_pow_k_ci_high),
    fully === true ? '' : cut(why.find((one) => one !== undefined)?.reason ?? '', 60),
  ];
}

/** What the whole data set says, a line a fact. */
export function summaryLines(summary: AgenticSummary): string[] {
  const { conversations, interactions, answers, arguments: args, tools, conversations_as_trials: trials } = summary;
  const lines = [
    `conversations  ${conversations.total}: ${conversations.correct} fully correct, ${conversations.incorrect} incorrect, ${conversations.unscored} unscored`,
    `interactions   ${interactions.total}: ${interactions.correct} correct, ${interactions.incorrect} incorrect, ${interactions.unscored} unscored, ${interactions.neutral} without ground truth`,
    `answers        ${answers.scored} scored, mean ${shown(answers.mean)}`,
    ...(args.scored === 0 ? [] : [`arguments      ${args.scored} scored, mean ${shown(args.mean)}`]),
    `tools          ${tools.scored} scored, ${tools.correct} correct, mean ${shown(tools.mean)}`,
  ];
  return [...lines, ...trialLines(trials)];
}

function trialLines(trials: ConversationsAsTrials): string[] {
  const { k, n, c } = trials;
  const at = interval(trials.pass_at_k, trials.pass_at_k_ci_low, trials.pass_at_k_ci_high);
  const pow = interval(trials.pass_pow_k, trials.pass_pow_k_ci_low, trials.pass_pow_k_ci_high);
  return [
    `a conversation as the trial (${trials.statistical_mode}, ${c} of ${n} correct, ${trials.outstanding} outstanding): ${trials.assessment.replaceAll('_', ' ')}`,
    `  pass@${k} ${at}`,
    `  pass^${k} ${pow}`,
  ];
}

function interval(mean: number | null, low: number | null, high: number | null): string {
  if (mean === null) return '-';
  return low === null || high === null ? shown(mean) : `${shown(mean)} [${shown(low)}, ${shown(high)}]`;
}

function shown(value: number | null): string {
  return value === null ? '-' : value.toFixed(3);
}
