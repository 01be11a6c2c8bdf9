import type { Argument, Command, Option } from 'commander';

/** What may follow: one of some words, a file or folder, or a text that only the user knows. */
export type ValueKind =
  { readonly kind: 'words'; readonly words: readonly string[] } | { readonly kind: 'file' } | { readonly kind: 'text' };

export interface CompletedOption {
  /** `-h` and `--help`. */
  readonly flags: readonly string[];
  readonly description: string;
  /** May be given several times. */
  readonly repeated: boolean;
  /** null: a switch. */
  readonly value: (ValueKind & { readonly name: string }) | null;
}

export interface CompletedCommand {
  /** Empty for the program itself. */
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** What its arguments are; null: it takes none. */
  readonly argument: (ValueKind & { readonly name: string }) | null;
}

/** What can be completed: the program's own options first, then its commands. */
export function completedCommands(program: Command): readonly [CompletedCommand, ...CompletedCommand[]] {
  const help = program.createHelp();
  const commands = help.visibleCommands(program);
  const names = commands.map((command) => command.name());
  const completed = (command: Command): CompletedCommand => {
    const [argument] = command.registeredArguments;
    return {
      name: command.name(),
      summary: help.subcommandDescription(command),
      options: help.visibleOptions(command).map(completedOption),
      // commander's own `help [command]`.
      argument: command.name() === 'help' ? { kind: 'words', words: names, name: 'command' } : argumentOf(argument),
    };
  };
  const { options } = completed(program);
  const root = { name: '', summary: '', options, argument: { kind: 'words', words: names, name: 'command' } } as const;
  return [root, ...commands.map(completed)];
}

function completedOption(option: Option): CompletedOption {
  const name = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1];
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    description: option.description,
    repeated: Array.isArray(option.defaultValue),
    value: name === undefined ? null : { ...kindOf(name, option.argChoices), name },
  };
}

function argumentOf(argument: Argument | undefined): CompletedCommand['argument'] {
  return argument === undefined ? null : { ...kindOf(argument.name(), argument.argChoices), name: argument.name() };
}

/** The names under which our help speaks of files. */
const FILES = new Set(['file', 'dir', 'path', 'dataset']);

function kindOf(name: string, choices: readonly string[] | undefined): ValueKind {
  if (choices !== undefined) return { kind: 'words', words: choices };
  return { kind: FILES.has(name) ? 'file' : 'text' };
}
