import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { runCli } from '../../support/cli.js';

const script = async (shell: string): Promise<string> => (await runCli(['completion', shell])).stdout;

/** What bash offers for the last of the words, after `tracegrade`. */
async function completions(...words: readonly string[]): Promise<readonly string[]> {
  const ask = `${await script('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tracegrade
((\${#COMPREPLY[@]} == 0)) || printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', ask, 'bash', 'tracegrade', ...words], { encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

test('bash completes the commands, and the topics of help', async () => {
  const { stdout } = await runCli(['--help']);
  const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[| <| +[a-z])/gm)].map((match) => match[1] as string);

  expect(await completions('')).toEqual(expect.arrayContaining(['start', 'score', 'demo', 'completion', 'help']));
  expect(listed).toEqual(expect.arrayContaining([...(await completions(''))]));
  expect(await completions('help', 'mig')).toEqual(['migrate']);
});

test("bash completes each command's own options", async () => {
  expect(await completions('--ver')).toEqual(['--version']);
  expect(await completions('demo', '--')).toEqual(
    expect.arrayContaining(['--conversations', '--keep', '--stay', '--config', '--set', '--help']),
  );
  expect(await completions('migrate', '--dry')).toEqual(['--dry-run']);
  expect(await completions('demo', '--dry')).toEqual([]);
});

test('bash completes the values of options and arguments', async () => {
  expect(await completions('score', 'traces/', '--format', '')).toEqual(['table', 'json', 'jsonl']);
  // readline parts words at the equals sign.
  expect(await completions('evaluate', '--mode', '=', 'f')).toEqual(['frequentist']);
  expect(await completions('evaluate', '--mode', '=')).toEqual(['bayesian', 'frequentist']);
  expect(await completions('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await completions('demo', '--conversations', '')).toEqual([]);
});

test('bash completes files where files are wanted', async () => {
  expect(await completions('score', 'package.j')).toEqual(['package.json']);
  expect(await completions('score', '--dataset', 'package.j')).toEqual(['package.json']);
  expect(await completions('query', 'package.j')).toEqual([]);
});

const zsh = [
  "'start:receive traces, grade them and store the result'",
  '--format[how to print]:format:(table json jsonl)',
];
const fish = ["-l format -x -a 'table json jsonl'", "-a start -d 'receive traces, grade them and store the result'"];

test.each([
  ['zsh', zsh],
  ['fish', fish],
])('%s has the commands, their options and what these take', async (shell, parts) => {
  const text = await script(shell);

  for (const part of parts) expect(text).toContain(part);
  // Each command with its --set, whose value is free.
  expect(text.match(shell === 'zsh' ? /'\*--set\[/g : / -l set -x /g)).toHaveLength(10);
});

const found = (shell: string) => spawnSync(shell, ['-c', 'true']).error === undefined;

test.each(['bash', 'zsh', 'fish'].filter(found))('%s reads its script without complaint', async (shell) => {
  const { status, stderr } = spawnSync(shell, ['-n'], { input: await script(shell), encoding: 'utf8' });

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('a shell that is not known is named with those that are', async () => {
  const { status, stderr } = await runCli(['completion', 'tcsh']);

  expect(status).toBe(2);
  expect(stderr).toContain('bash, zsh, fish');
});
