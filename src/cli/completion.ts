import type { Command } from 'commander';
import { Argument } from 'commander';
import type { RegisterCommand } from './command.js';
import { completionScript, SHELLS, type Shell } from './completion-scripts.js';
import { completedCommands } from './completion-words.js';
import { ExitStatus } from './exit-status.js';

export const completionCommand: RegisterCommand = (program: Command, io, done) => {
  program
    .command('completion')
    .summary('print a script that completes commands and options in your shell')
    .description('Prints a completion script for a shell, made from the commands of this version.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
Install it:
  bash  tracegrade completion bash > ~/.local/share/bash-completion/completions/tracegrade
  zsh   tracegrade completion zsh > "\${fpath[1]}/_tracegrade"      (a directory of $fpath, before compinit)
  fish  tracegrade completion fish > ~/.config/fish/completions/tracegrade.fish

For this session only: source <(tracegrade completion bash)`,
    )
    .action((shell: Shell) => {
      io.stdout.write(completionScript(shell, completedCommands(program)));
      done(ExitStatus.done);
    });
};
