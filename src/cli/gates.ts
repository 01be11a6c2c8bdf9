import type { Graded } from '../model/graded.js';
import type { Criterion } from '../model/score.js';
import { CommandError, ExitStatus } from './exit-status.js';
import type { SeriesReport } from './series-report.js';

/** A figure that must not be below a bound. */
export interface Gate {
  readonly name: string;
  readonly least: number;
}

const CRITERIA: ReadonlySet<string> = new Set<Criterion>(['tools', 'arguments', 'answer', 'completion', 'policy']);

/**
 * Reads `--fail-under`: a number alone is the share of correct interactions; `NAME=NUMBER` names a criterion (its mean
 * value), `correct`, `pass@K` or `pass^K` (posterior mean, of every series). Throws a CommandError for anything else.
 */
export function parseGate(text: string): Gate {
  const at = text.indexOf('=');
  const name = at < 0 ? 'correct' : text.slice(0, at).trim();
  const number = text.slice(at + 1).trim();
  const least = Number(number);
  if (number === '' || !(least >= 0 && least <= 1)) {
    throw new CommandError(`--fail-under ${text}: a number from 0 to 1 expected, got "${number}"`, ExitStatus.usage);
  }
  if (name !== 'correct' && !CRITERIA.has(name) && !/^pass[@^][1-9]\d*$/.test(name)) {
    throw new CommandError(
      `--fail-under ${text}: correct, ${[...CRITERIA].join(', ')}, pass@K or pass^K expected, got "${name}"`,
      ExitStatus.usage,
    );
  }
  return { name, least };
}

/** The K that gates ask for, so that they are estimated. */
export function gateKs(gates: readonly Gate[]): number[] {
  return gates.flatMap(({ name }) => (/^pass[@^]/.test(name) ? [Number(name.slice(5))] : []));
}

/** What a gate looks at. */
export interface Figure {
  readonly label: string;
  /** null: nothing decided it. */
  readonly value: number | null;
}

/** Why gates were missed, a line each; empty when all held. */
export function missedGates(
  gates: readonly Gate[],
  graded: readonly Graded[],
  reports: readonly SeriesReport[],
): string[] {
  return gates.flatMap((gate) => missedBy(gate, figuresOf(gate.name, graded, reports)));
}

/** Which of the figures are below the gate, a line each. A figure that nothing decided is below every bound. */
export function missedBy(gate: Gate, figures: readonly Figure[]): string[] {
  return figures.flatMap(({ label, value }) => {
    if (value !== null && value >= gate.least - 1e-9) return [];
    return [`${label} is ${value === null ? 'undecided (nothing was scored)' : value.toFixed(4)}, below ${gate.least}`];
  });
}

function figuresOf(name: string, graded: readonly Graded[], reports: readonly SeriesReport[]): readonly Figure[] {
  if (/^pass[@^]/.test(name)) {
    const metric = name[4] === '@' ? 'pass_at_k' : 'pass_pow_k';
    const k = Number(name.slice(5));
    if (reports.length === 0) return [{ label: name, value: null }];
    return reports.map((report) => ({
      label: `${name} of ${report.assistantId}`,
      // Without a trial the posterior is the prior, which says nothing of the agent.
      value:
        report.counts.trials === 0
          ? null
          : (report.estimates.find((e) => e.metric === metric && e.k === k)?.mean ?? null),
    }));
  }
  const values =
    name === 'correct'
      ? graded.flatMap(({ verdict }) => (verdict.label === 'unscored' ? [] : [verdict.label === 'correct' ? 1 : 0]))
      : graded.flatMap(({ verdict }) =>
          verdict.scores.flatMap((score) => (score.kind === 'scored' && score.criterion === name ? [score.value] : [])),
        );
  const mean = values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  return [{ label: name === 'correct' ? 'the share of correct interactions' : `the mean of ${name}`, value: mean }];
}
