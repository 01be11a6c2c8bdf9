import type { CompletedCommand, CompletedOption } from './completion-words.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The completion script of a shell. `commands`: the program itself first. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands);
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Bash 3.2 and newer. A word before the cursor is told by `command/previous word`, each of which has its line. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options.flatMap(({ flags, value }) => {
      if (value === null) return [];
      const pattern = flags.map((flag) => quoted(`${name}/${flag}`)).join(' | ');
      const does = value.kind === 'words' ? `words=${quoted(value.words.join(' '))}` : `kind=${value.kind}`;
      return [`    ${pattern}) ${does} ;;`];
    }),
  );
  const flags = commands.map(
    ({ name, options }) =>
      `      ${quoted(name)}) words=${quoted(options.flatMap((option) => option.flags).join(' '))} ;;`,
  );
  const args = commands.flatMap(({ name, argument }) => {
    if (argument === null) return [];
    const does = argument.kind === 'words' ? `words=${quoted(argument.words.join(' '))}` : `kind=${argument.kind}`;
    return [`      ${quoted(name)}) ${does} ;;`];
  });
  const names = commands.slice(1).map(({ name }) => name);
  return `# Completion of tracegrade for bash.
_tracegrade() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command='' words='' kind='' word
  COMPREPLY=()
  # --option=value is three words here.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = && COMP_CWORD -ge 2 ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case $word in
    ${names.join(' | ')})
      command=$word
      break
      ;;
    esac
  done
  case $command/$prev in
${values.join('\n')}
  *)
    if [[ $cur == -* ]]; then
      case $command in
${flags.join('\n')}
      esac
    else
      case $command in
${args.join('\n')}
      esac
    fi
    ;;
  esac
  if [[ $kind == file ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
  else
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$cur")
  fi
}
complete -F _tracegrade tracegrade
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const [root, ...rest] = commands;
  const cases = rest.map(({ name, options, argument }) => {
    const specs = options.map(zshOption);
    if (argument !== null) specs.push(quoted(`*:${argument.name}:${zshAction(argument)}`));
    return `    ${name})
      _arguments -s \\
        ${specs.join(' \\\n        ')}
      ;;`;
  });
  return `#compdef tracegrade
# Completion of tracegrade for zsh.
_tracegrade() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
    ${rest.map(({ name, summary }) => quoted(`${name}:${summary}`)).join('\n    ')}
  )
  _arguments -C \\
    ${(root?.options ?? []).map(zshOption).join(' \\\n    ')} \\
    '1:command:->command' \\
    '*::argument:->argument'
  case $state in
  command) _describe command commands ;;
  argument)
    case $words[1] in
${cases.join('\n')}
    esac
    ;;
  esac
}
if [[ $funcstack[1] == _tracegrade ]]; then
  _tracegrade "$@"
else
  compdef _tracegrade tracegrade
fi
`;
}

function zshOption({ flags, description, repeated, value }: CompletedOption): string {
  const text = `[${description.replace(/[[\]\\]/g, '\\$&')}]`;
  const rest = value === null ? text : `${text}:${value.name}:${zshAction(value)}`;
  if (repeated) return flags.map((flag) => quoted(`*${flag}${rest}`)).join(' ');
  if (flags.length === 1) return quoted(`${flags.join('')}${rest}`);
  return flags.map((flag) => quoted(`(${flags.join(' ')})${flag}${rest}`)).join(' ');
}

/** A blank action only shows what is wanted. */
function zshAction(value: NonNullable<CompletedOption['value']>): string {
  return value.kind === 'words' ? `(${value.words.join(' ')})` : value.kind === 'file' ? '_files' : ' ';
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = ['# Completion of tracegrade for fish.', 'complete -c tracegrade -f'];
  for (const { name, summary, options, argument } of commands) {
    const when = name === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${name}`;
    const rule = `complete -c tracegrade -n ${fishQuoted(when)}`;
    if (name !== '') {
      lines.push(`complete -c tracegrade -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`);
      if (argument?.kind === 'file') lines.push(`${rule} -F`);
      if (argument?.kind === 'words') lines.push(`${rule} -a ${fishQuoted(argument.words.join(' '))}`);
    }
    for (const { flags, description, value } of options) {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      const takes =
        value === null
          ? []
          : value.kind === 'words'
            ? [`-x -a ${fishQuoted(value.words.join(' '))}`]
            : [value.kind === 'file' ? '-r -F' : '-x'];
      lines.push([rule, ...names, ...takes, `-d ${fishQuoted(description)}`].join(' '));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** In fish's single quotes a backslash escapes itself and the quote. */
function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
