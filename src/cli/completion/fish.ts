import {
  allCommands,
  type Described,
  type DescribedOption,
  quoted,
  type Values,
} from "./described.ts";

/** The script for fish. */
export function fishScript(program: Described): string {
  const commands = allCommands(program);
  const names = commands.flatMap(({ path }) => (path.length === 0 ? [] : [path.join(" ")]));
  const valued = commands.flatMap(({ options }) =>
    options.flatMap(({ names, values }) => (values === undefined ? [] : names)),
  );
  return `# Completion of throughline for fish. To load it: throughline completion fish | source

# The command so far, such as "sessions show", and how many of its arguments are there.
function __throughline_place
    set -l commands ${names.map(fishQuoted).join(" ")}
    set -l valued ${[...new Set(valued)].map(fishQuoted).join(" ")}
    set -l words (commandline -opc)
    set -l path
    set -l count 0
    set -l skip 0
    for word in $words[2..-1]
        if test $skip = 1
            set skip 0
        else if string match -q -- '-*' $word
            contains -- $word $valued; and set skip 1
        else if test $count = 0; and contains -- (string join ' ' $path $word) $commands
            set -a path $word
        else
            set count (math $count + 1)
        end
    end
    echo (string join ' ' $path)
    echo $count
end

function __throughline_at
    set -l place (__throughline_place)
    test "$place[1]" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test $argv[2] = '*'; or test $argv[2] = $place[2]
end

function __throughline_chats
    throughline complete-chats -- (commandline -opc) 2>/dev/null
end

complete -c throughline -e
complete -c throughline -f
${commands.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, options, arguments: places, commands }: Described): readonly string[] {
  const at = (place?: string) => {
    const condition = [
      "__throughline_at",
      quoted(path.join(" ")),
      ...(place ? [quoted(place)] : []),
    ];
    return `complete -c throughline -n ${fishQuoted(condition.join(" "))}`;
  };
  return [
    ...commands.map((each) => {
      return `${at("0")} -a ${fishQuoted(each.path.at(-1) ?? "")} -d ${fishQuoted(each.says)}`;
    }),
    ...options.map((option) => `${at()} ${optionOf(option)}`),
    ...places.flatMap(({ values, isRepeated }, index) => {
      const found = valuesOf(values);
      return found === "" ? [] : [`${at(isRepeated ? "*" : String(index))} ${found}`];
    }),
  ];
}

function optionOf({ names, says, values }: DescribedOption): string {
  const forms = names.map((name) => {
    return name.startsWith("--") ? `-l ${fishQuoted(name.slice(2))}` : `-s ${name.slice(1)}`;
  });
  // With -x no file is offered beside its values.
  const value = values === undefined ? [] : [values === "file" ? "-r" : "-x", valuesOf(values)];
  return [...forms, "-d", fishQuoted(says), ...value].filter((part) => part !== "").join(" ");
}

function valuesOf(values: Values): string {
  if (typeof values !== "string") return `-a ${fishQuoted(values.join(" "))}`;
  return {
    file: "-F",
    directory: "-a '(__fish_complete_directories)'",
    chat: "-a '(__throughline_chats)'",
    anything: "",
  }[values];
}

/** Between quotes fish reads two characters only as more than themselves. */
function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
