import { type Command, InvalidArgumentError } from 'commander'

const examples = `
Examples:
  source <(hapax completion bash)
  hapax completion zsh > ~/.zfunc/_hapax
  hapax completion fish > ~/.config/fish/completions/hapax.fish`

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** `hapax completion <shell>` */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands in your shell')
    .argument('<shell>', shells.join(', '), shellIn)
    .addHelpText('after', examples)
    .action((shell: Shell) => console.log(scriptFor(shell, wordsOf(program))))
}

function shellIn(text: string): Shell {
  const shell = shells.find((one) => one === text)
  if (shell !== undefined) return shell
  throw new InvalidArgumentError(`there are ${shells.join(', ')}.`)
}

/** What may follow each command: its own commands, and its flags. */
function wordsOf(program: Command): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, readonly string[]>()
  const walk = (command: Command, path: string) => {
    const names = command.commands.map((one) => one.name())
    const flags = command.options.flatMap(({ long }) => long ?? [])
    words.set(path, [...names, ...flags])
    for (const one of command.commands) walk(one, `${path} ${one.name()}`.trim())
  }
  walk(program, '')
  return words
}

function scriptFor(shell: Shell, words: ReadonlyMap<string, readonly string[]>): string {
  const cases = [...words].map(([path, follow]) => `    "${path}") follow="${follow.join(' ')}" ;;`).join('\n')
  const bash = `_hapax() {
  local path="" word follow="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case " ${[...words.keys()].filter((path) => path !== '').join(' | ')} " in
      *" \${path:+$path }$word "*) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$follow" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _hapax hapax`
  switch (shell) {
    case 'bash':
      return bash
    case 'zsh':
      return `#compdef hapax\nautoload -U +X bashcompinit && bashcompinit\n${bash}`
    case 'fish':
      return [...words]
        .flatMap(([path, follow]) => {
          const seen = path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`
          return follow.map((word) =>
            word.startsWith('--')
              ? `complete -c hapax -n "${seen}" -l ${word.slice(2)}`
              : `complete -c hapax -f -n "${seen}" -a ${word}`,
          )
        })
        .join('\n')
  }
}
