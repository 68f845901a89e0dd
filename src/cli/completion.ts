import { Argument, type Command, Option } from "commander";
import type { AddCommand } from "./command.ts";
import { write } from "./io.ts";

/** Scripts that ask `throughline complete` for what fits. `<file>` and `<directory>` are completed by the shell. */
const scripts = {
  bash: `# Completion of throughline for bash. To load it: source <(throughline completion bash)
_throughline() {
  local IFS=$' \\t\\n' line="\${COMP_LINE:0:COMP_POINT}" words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local IFS=$'\\n' current="\${words[\${#words[@]} - 1]}"
  COMPREPLY=($(throughline complete -- "\${words[@]}" 2>/dev/null | cut -f 1))
  case "\${COMPREPLY[0]}" in
    '<file>') compopt -o default 2>/dev/null && COMPREPLY=() || COMPREPLY=($(compgen -f -- "$current")) ;;
    '<directory>') compopt -o dirnames 2>/dev/null && COMPREPLY=() || COMPREPLY=($(compgen -d -- "$current")) ;;
  esac
}
complete -F _throughline throughline
`,
  zsh: `#compdef throughline
# Completion of throughline for zsh. To load it, after compinit: source <(throughline completion zsh)
_throughline() {
  local -a found
  found=(\${(f)"$(throughline complete -- "\${(@)words[1,CURRENT]}" 2>/dev/null)"})
  case $found[1] in
    '<file>') _files ;;
    '<directory>') _files -/ ;;
    *) found=(\${\${found//:/\\\\:}//$'\\t'/:}); _describe throughline found ;;
  esac
}
if [ "$funcstack[1]" = _throughline ]; then _throughline "$@"; else compdef _throughline throughline; fi
`,
  fish: `# Completion of throughline for fish. To load it: throughline completion fish | source
function __throughline
    set -l current (commandline -ct)
    set -l found (throughline complete -- (commandline -opc) "$current" 2>/dev/null)
    switch "$found[1]"
        case '<file>'
            __fish_complete_path "$current"
        case '<directory>'
            __fish_complete_directories "$current"
        case '*'
            string join -- \\n $found
    end
end
complete -c throughline -e
complete -c throughline -f -a '(__throughline)'
`,
};

/** Adds the command that prints the script of a shell. */
export const addCompletionCommand: AddCommand = (program, { io }) => {
  program
    .command("completion")
    .summary("Print a script that completes commands in a shell.")
    .description(
      "Print a script that completes commands, options, their values and files in a shell.",
    )
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)))
    .examples([
      ["completion bash > ~/.local/share/bash-completion/completions/throughline", "for bash"],
      ["completion zsh > ~/.zfunc/_throughline", "for zsh, with fpath+=~/.zfunc before compinit"],
      ["completion fish > ~/.config/fish/completions/throughline.fish", "for fish"],
    ])
    .action((shell: keyof typeof scripts) => write(io.output, scripts[shell]));
};

/**
 * Adds the hidden command that the scripts run. It prints what may stand for the last word, one a line,
 * some with a tab and a description.
 */
export const addCompleteCommand: AddCommand = (program, { io }) => {
  program
    .command("complete", { hidden: true })
    .argument("[words...]", "what was typed so far")
    .action((words: readonly string[]) => {
      const values = wanted(program, words.slice(1));
      if (typeof values === "string") return write(io.output, `${values}\n`);
      const fitting = values.filter((word) => word.startsWith(words.at(-1) ?? ""));
      return write(io.output, fitting.map((line) => `${line}\n`).join(""));
    });
};

/** Words with their descriptions, or what else may stand in a place. */
type Values = readonly string[] | "<file>" | "<directory>";

/** Finds what belongs in the place of the last word. */
function wanted(program: Command, words: readonly string[]): Values {
  let command = program;
  let places = 0;
  let valued: Option | undefined;
  for (const word of words.slice(0, -1)) {
    const below = places === 0 && commandsOf(command).find((each) => each.name() === word);
    if (valued !== undefined) valued = undefined;
    else if (word.startsWith("-")) {
      const option = optionsOf(command).find(({ short, long }) => word === short || word === long);
      valued = option?.required || option?.optional ? option : undefined;
    } else if (below) command = below;
    else places += 1;
  }
  if (valued !== undefined) return valuesOf(valued);
  if (words.at(-1)?.startsWith("-")) return optionsOf(command).flatMap(described);
  const { registeredArguments: all } = command;
  const argument = all[places] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
  if (argument !== undefined) return valuesOf(argument);
  return places === 0 ? commandsOf(command).flatMap(described) : [];
}

const commandsOf = (command: Command) => command.createHelp().visibleCommands(command);

const optionsOf = (command: Command) => command.createHelp().visibleOptions(command);

/** Gives the words of a command or an option, each with the first sentence of its help. */
function described(of: Command | Option): readonly string[] {
  const isOption = of instanceof Option;
  const words = isOption ? [of.short, of.long] : [of.name()];
  const help = isOption ? of.description : of.summary() || of.description();
  const text = help.replace(/\s+/g, " ");
  const sentence = (/^.*?(?=\.(?: |$))/.exec(text)?.[0] ?? text).slice(0, 80);
  return words.flatMap((word) => (word === undefined ? [] : [`${word}\t${sentence}`]));
}

/** Tells what belongs in a place by its choices, or by its name. */
function valuesOf(of: Argument | Option): Values {
  const isOption = of instanceof Option;
  const [, placeholder = ""] = /[<[]([^>\]]*)/.exec(isOption ? of.flags : "") ?? [];
  const name = isOption ? placeholder : of.name();
  if (of.argChoices !== undefined) return of.argChoices;
  if (name === "file" || name === "path") return "<file>";
  return name === "dir" || name === "store" ? "<directory>" : [];
}
