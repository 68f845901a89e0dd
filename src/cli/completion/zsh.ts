import {
  allCommands,
  type Described,
  type DescribedOption,
  quoted,
  type Values,
} from "./described.ts";

/** The script for zsh: to be loaded, or a file `_throughline` in a folder of `fpath`. */
export function zshScript(program: Described): string {
  return `#compdef throughline
# Completion of throughline for zsh. To load it, after compinit: source <(throughline completion zsh)

__throughline_chats() {
  local -a chats
  chats=(\${(f)"$(throughline complete-chats -- "\${words[@]}" 2>/dev/null)"})
  compadd -a chats
}
${allCommands(program).map(functionOf).join("")}
if [ "$funcstack[1]" = "_throughline" ]; then
  _throughline "$@"
else
  compdef _throughline throughline
fi
`;
}

const nameOf = (path: readonly string[]) => ["_throughline", ...path].join("_");

function functionOf(command: Described): string {
  const specs = command.options.flatMap(optionSpecs);
  const body = command.commands.length === 0 ? leaf(command, specs) : branch(command, specs);
  return `\n${nameOf(command.path)}() {\n${body}\n}\n`;
}

function leaf(command: Described, specs: readonly string[]): string {
  const places = command.arguments.map(({ name, values, isRepeated }, index) => {
    return quoted(`${isRepeated ? "*" : index + 1}:${escaped(name)}:${actionOf(values)}`);
  });
  return `  ${argumentsOf("-S", [...specs, ...places])}`;
}

/** Completes the name of a command, or calls the function of the one that is there. */
function branch({ path, commands }: Described, specs: readonly string[]): string {
  const names = commands.map((each) => {
    return `        ${quoted(`${escaped(each.path.at(-1) ?? "")}:${each.says}`)}`;
  });
  const cases = commands.map((each) => {
    return `        ${each.path.at(-1)}) ${nameOf(each.path)} ;;`;
  });
  const places = ["'1:command:->command'", "'*::argument:->argument'"];
  return `  local curcontext="$curcontext" state line
  local -a commands
  ${argumentsOf("-C", [...specs, ...places])}
  case $state in
    command)
      commands=(
${names.join("\n")}
      )
      _describe command commands
      ;;
    argument)
      curcontext="\${curcontext%:*:*}:${nameOf(path)}-$line[1]:"
      case $line[1] in
${cases.join("\n")}
      esac
      ;;
  esac`;
}

function argumentsOf(flag: string, specs: readonly string[]): string {
  return ["_arguments", flag, ...specs].join(" \\\n    ");
}

function optionSpecs({ names, says, values }: DescribedOption): readonly string[] {
  const others = names.length < 2 ? "" : `(${names.join(" ")})`;
  return names.map((name) => {
    const value = values === undefined ? "" : `:value:${actionOf(values)}`;
    // With `=` the value may stand in the same word.
    const form = value !== "" && name.startsWith("--") ? `${name}=` : name;
    return quoted(`${others}${form}[${escaped(says)}]${value}`);
  });
}

function actionOf(values: Values): string {
  if (typeof values !== "string") return `(${values.join(" ")})`;
  return { file: "_files", directory: "_files -/", chat: "__throughline_chats", anything: " " }[
    values
  ];
}

/** In a description these would end it. */
function escaped(text: string): string {
  return text.replace(/[\\[\]:]/g, "\\$&");
}
