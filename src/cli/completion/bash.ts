import { allCommands, type Described, quoted, type Values } from "./described.ts";

/** The script for bash, from version 3.2. */
export function bashScript(program: Described): string {
  const commands = allCommands(program);
  const names = commands.flatMap(({ path, commands: below }) => {
    const all = quoted(below.map((each) => each.path.at(-1)).join(" "));
    return below.length === 0 ? [] : [`    ${key(path)}) echo ${all} ;;`];
  });
  const options = commands.map(({ path, options }) => {
    return `    ${key(path)}) echo ${quoted(options.flatMap((each) => each.names).join(" "))} ;;`;
  });
  const ofOptions = commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, values }) =>
      values === undefined
        ? []
        : names.map((name) => `    ${key([...path, name])}) echo ${kindOf(values)} ;;`),
    ),
  );
  const ofArguments = commands.flatMap(({ path, arguments: all }) =>
    all.map(({ values, isRepeated }, index) => {
      const place = isRepeated ? `${key(path)}' '*` : key([...path, String(index)]);
      return `    ${place}) echo ${kindOf(values)} ;;`;
    }),
  );
  return `${head}
_throughline_commands() {
  case "$1" in
${names.join("\n")}
  esac
}

_throughline_options() {
  case "$1" in
${options.join("\n")}
  esac
}

# What belongs after an option of a command; nothing: the option takes no value.
_throughline_value() {
  case "$1" in
${ofOptions.join("\n")}
  esac
}

# What belongs in a place of a command: the first is 0.
_throughline_argument() {
  case "$1" in
${ofArguments.join("\n")}
  esac
}
${driver}`;
}

const key = (path: readonly string[]) => quoted(path.join(" "));

function kindOf(values: Values): string {
  return quoted(typeof values === "string" ? values : `words ${values.join(" ")}`);
}

const head =
  "# Completion of throughline for bash. To load it: source <(throughline completion bash)\n";

/** Words are split at spaces: bash itself would also split at the colons of ids. */
const driver = `
_throughline_fill() {
  local kind="$1" word="$2"
  case "$kind" in
    words\\ *) COMPREPLY=($(compgen -W "\${kind#words }" -- "$word")) ;;
    chat) COMPREPLY=($(compgen -W "$(throughline complete-chats -- "\${words[@]}" 2>/dev/null)" -- "$word")) ;;
    file) compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$word")) ;;
    directory) compopt -o dirnames 2>/dev/null || COMPREPLY=($(compgen -d -- "$word")) ;;
  esac
}

_throughline() {
  local IFS=$' \\t\\n' words word path='' last='' kind='' index=0 count breaks=''
  local line="\${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=()
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  count=\${#words[@]}
  local current="\${words[count - 1]}"
  for word in "\${words[@]:1:count - 2}"; do
    if [[ -n $kind ]]; then kind=''; continue; fi
    if [[ $word == -* ]]; then
      [[ $word == *=* ]] || kind="$(_throughline_value "\${path:+$path }$word")"
      last="$word"
    elif [[ $index == 0 && " $(_throughline_commands "$path") " == *" $word "* ]]; then
      path="\${path:+$path }$word"
    else
      index=$((index + 1))
    fi
  done
  if [[ -n $kind ]]; then
    _throughline_fill "$kind" "$current"
  elif [[ $current == --*=* ]]; then
    _throughline_fill "$(_throughline_value "\${path:+$path }\${current%%=*}")" "\${current#*=}"
    current="\${current#*=}"
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_throughline_options "$path")" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$(_throughline_commands "$path")" -- "$current"))
    [[ \${#COMPREPLY[@]} -gt 0 ]] ||
      _throughline_fill "$(_throughline_argument "\${path:+$path }$index")" "$current"
  fi
  # bash replaces only what stands after the last colon.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("\${COMPREPLY[@]#"\${current%"\${current##*:}"}"}")
  fi
}

complete -F _throughline throughline
`;
