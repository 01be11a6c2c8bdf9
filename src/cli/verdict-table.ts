import Table from 'cli-table3';
import type { Graded } from '../model/graded.js';
import type { Criterion, Score, Verdict } from '../model/score.js';

const CRITERIA: readonly Criterion[] = ['tools', 'arguments', 'answer', 'policy'];

const NARROW = { 'top-mid': '', 'bottom-mid': '', 'mid-mid': '', middle: ' ' } as const;
const RULES_ONLY_HEAD = {
  top: '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  right: '',
  mid: '',
  'left-mid': '',
  'right-mid': '',
  ...NARROW,
} as const;

/** A table of interactions for a person: verdict, each criterion, and why. One line an interaction where it fits. */
export function verdictTable(rows: readonly Graded[], width: number): string {
  const head = ['started (UTC)', 'agent', 'query', 'tools called', 'verdict', ...CRITERIA, 'why'];
  const table = plainTable(head);
  const textWidth = Math.max(18, Math.min(44, Math.floor((width - 80) / 2)));
  for (const { interaction, verdict } of rows) {
    table.push([
      new Date(Math.min(interaction.startedAtMs, 8.64e15)).toISOString().slice(0, 19).replace('T', ' '),
      cut(interaction.assistantId, 18),
      cut(interaction.query ?? '(not captured)', textWidth),
      cut(interaction.toolCalls.map((call) => call.name).join(', ') || '-', 28),
      verdict.neutral ? 'neutral' : verdict.label,
      ...CRITERIA.map((criterion) => mark(verdict.scores.find((score) => score.criterion === criterion))),
      cut(why(verdict), Math.max(40, textWidth * 2)),
    ]);
  }
  return table.toString();
}

/** A borderless table with a heading line. */
export function plainTable(head: readonly string[]): InstanceType<typeof Table> {
  return new Table({
    head: [...head],
    chars: RULES_ONLY_HEAD,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 1, compact: true },
  });
}

function mark(score: Score | undefined): string {
  if (score === undefined) return '-';
  if (score.kind === 'abstained') return score.abstained === 'disabled' ? '-' : score.abstained;
  return `${score.passed ? 'pass' : 'FAIL'} ${Number(score.value.toFixed(2))}`;
}

/** The failed criteria speak first; when none failed, what was outstanding. */
function why(verdict: Verdict): string {
  const failed = verdict.scores.filter((score) => score.kind === 'scored' && !score.passed);
  if (failed.length > 0) return failed.map((score) => score.reason).join('; ');
  if (verdict.label === 'correct' || verdict.neutral) return '';
  return verdict.scores
    .filter((score) => score.kind === 'abstained' && score.abstained !== 'disabled' && score.criterion !== 'policy')
    .map((score) => `${score.criterion}: ${score.reason}`)
    .join('; ');
}

/** One line of at most `width` characters. Control characters would move a terminal's cursor. */
export function cut(text: string, width: number): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join('')}…`;
}
