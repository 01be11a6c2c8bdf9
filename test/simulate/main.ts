import { writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { agrees, episodes, naiveRunLength, P0, quantile, runLength } from './alerts.js';
import { fixedCoverage, KS, NS, priorCoverage } from './coverage.js';

const PAGE = 'docs/simulation.md';
const SEED = 20_261_130;
const RUNS = [1_000, 10_000];

const percent = (share: number, digits = 1) => (100 * share).toFixed(digits);
const whole = (value: number) => (Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : 'none');

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function coverageFromPrior(): string {
  const streams = 100_000;
  const rows = priorCoverage({ a: 1, b: 1 }, streams, SEED);
  const error = Math.sqrt((0.95 * 0.05) / streams);
  // Without pass@10, see the page.
  const worst = rows
    .flatMap(({ n, covered }) => covered.filter((_, at) => at !== 4).map((share) => ({ n, share })))
    .reduce((a, b) => (Math.abs(b.share - 0.95) > Math.abs(a.share - 0.95) ? b : a));
  return `
${table(
  ['n', ...KS.flatMap((k) => [`pass@${k}`, `pass^${k}`])],
  rows.map(({ n, covered }) => [n, ...covered.map((share) => percent(share, 2))]),
)}

${streams.toLocaleString('en-US')} success rates drawn from Beta(1, 1), each with n trials; percent of the 95 % intervals that held the true
figure. The simulation's own standard error is ${percent(error, 2)} points; the cell that is farthest from 95 is n = ${worst.n} with
${percent(worst.share, 2)} (${((worst.share - 0.95) / error).toFixed(1)} standard errors). The figures of a line agree because every figure rises with p: their intervals are
images of one. Only pass@10 seems to be held more often: above p = 0.975 it is 1 to all digits of a double, and so are the
ends of its interval.`;
}

function coverageAtFixedRates(): string {
  const rates = [0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99];
  const parts = [
    { name: 'Beta(1, 1)', prior: { a: 1, b: 1 } },
    { name: "Jeffreys' Beta(0.5, 0.5)", prior: { a: 0.5, b: 0.5 } },
  ].map(({ name, prior }) => {
    const cells = rates.map((p) => NS.map((n) => ({ p, n, share: fixedCoverage(p, n, prior) })));
    const worst = cells
      .flat()
      .sort((a, b) => a.share - b.share)
      .slice(0, 3);
    return `
Prior ${name}; the worst cells are ${worst.map(({ p, n, share }) => `p = ${p}, n = ${n} (${percent(share)})`).join(', ')}.

${table(
  ['p', ...NS.map((n) => `n = ${n}`)],
  cells.map((row) => [row[0]?.p ?? '', ...row.map(({ share }) => percent(share))]),
)}`;
  });
  return `${parts.join('\n')}

Computed, not drawn: the sum of the probabilities of the counts whose interval holds p, in percent. The same for every K
and both metrics. With few trials only a few intervals are possible, so the share jumps: at p = 0.99 and n = 10 all ten
are right in 0.99^10 = 90.4 % of the windows, and with Beta(1, 1) no other count's interval reaches up to 0.99.`;
}

function runLengths(): string {
  const trials = 100_000_000;
  const rows = RUNS.flatMap((run) =>
    [P0, P0 + 0.02].map((p) => {
      if (!agrees(run, p, 300_000, SEED)) throw new Error(`the detector opens otherwise: A = ${run}, p = ${p}`);
      const { alarms, mean } = runLength(run, p, trials, SEED);
      return [run, p.toFixed(2), whole(p === P0 ? run : 4 * run), whole(mean), whole(mean / Math.sqrt(alarms))];
    }),
  );
  const naive = [P0, P0 + 0.02].map((p) => {
    const { mean, alarmedBy3000, flipsPer3000 } = naiveRunLength(p, 2_000, 3_000, SEED);
    return [p.toFixed(2), whole(mean), `${percent(alarmedBy3000)} %`, flipsPer3000.toFixed(1)];
  });
  return `
${table(['A', 'p', 'at least', 'mean conversations to a false alarm', 'standard error'], rows)}

${whole(trials)} conversations a line; the detector begins anew after each alarm. p0 = ${P0}.

The naive rule on such streams, 2000 of 3000 conversations each:

${table(['p', 'mean conversations to a false alarm', 'streams that alarmed', 'state changes in 3000'], naive)}`;
}

function drops(): string {
  const streams = 2_000;
  const rows: (string | number)[][] = [];
  const naive: (string | number)[][] = [];
  for (const run of RUNS) {
    for (const dropTo of [0.9, 0.85, 0.8, 0.7]) {
      const found = episodes(run, dropTo, streams, SEED);
      const { delays, closeDelays } = found;
      const tenths = [0.1, 0.5, 0.9].map((share) => whole(quantile(delays, share)));
      rows.push([
        run,
        dropTo,
        tenths[1] ?? '',
        `${tenths[0]} .. ${tenths[2]}`,
        percent(delays.filter(Number.isFinite).length / delays.length),
        percent(found.early),
        found.transitions.toFixed(2),
        percent(found.pageAtOpen),
        percent(found.pageInTheEnd),
        whole(found.changeError),
        whole(quantile(closeDelays, 0.5)),
      ]);
      if (run !== RUNS[0]) continue;
      naive.push([
        dropTo,
        whole(quantile(found.naive.delays, 0.5)),
        percent(found.naive.early),
        found.naive.transitions.toFixed(2),
      ]);
    }
  }
  return `
${table(
  [
    'A',
    'drop to',
    'median delay',
    '10 .. 90 %',
    'found %',
    'false alarm before %',
    'transitions',
    'page at open %',
    'page in the end %',
    'error of the change, median',
    'median to close',
  ],
  rows,
)}

${whole(streams)} streams a line: 500 conversations at 0.95, 600 at the lower rate, 1000 at 0.95, one a minute. Delays are in
conversations; those of the alert are of streams without a false alarm before the drop, and one that never came counts as
longer than all others. Transitions are openings and closings from the drop to the end of the stream, false alarms
included.

The naive rule on the same streams:

${table(['drop to', 'median delay', 'alarmed before %', 'state changes'], naive)}`;
}

const text = `# What the intervals and the alert do on made streams

Made by \`npm run simulate -- --write\` (seed ${SEED}), with the code that runs in production. Every number below is one
that it measured or computed.

## Do 95 % intervals hold the truth 95 % of the time?
${coverageFromPrior()}

A real agent has one success rate. At a fixed one the share is not 95 % but close to it, above or below, because counts
are whole numbers:
${coverageAtFixedRates()}

An interval that is looked at all the time is no alarm: each new conversation is another chance to be misled. Hence the
detector.

## How often is there a false alarm?
${runLengths()}

The naive rule opens while P(p < p0) > 0.95 over the last 200 conversations (at least 30), looked at after each.

## How soon is a drop found?
${drops()}

What A costs is delay: the alert that is wrong ten times less often comes later, by more than half for a large drop and
about twice as late for a small one. A drop by delta = 0.03 (to 0.90) is on the border of what matters: it is found late,
or not in 600 conversations, and in one case of three as a ticket.
`;

const page = await format(text, { ...(await resolveConfig(PAGE)), parser: 'markdown' });
if (process.argv.includes('--write')) writeFileSync(PAGE, page);
else process.stdout.write(page);
