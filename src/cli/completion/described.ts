import type { Argument, Command, Option } from "commander";

/** What may stand in a place of a command line: one of these words, or what the shell or the program finds. */
export type Values = readonly string[] | "file" | "directory" | "chat" | "anything";

export interface DescribedOption {
  /** As it is typed: `--home`, and `-h` where it has a short form. */
  readonly names: readonly string[];
  readonly says: string;
  /** Of its value; absent: it takes none. */
  readonly values?: Values | undefined;
}

interface DescribedArgument {
  readonly name: string;
  readonly values: Values;
  readonly isRepeated: boolean;
}

/** A command, as its help shows it: what is hidden there is not here. */
export interface Described {
  /** What is typed for it: `["sessions", "show"]`; empty for the program. */
  readonly path: readonly string[];
  readonly says: string;
  readonly options: readonly DescribedOption[];
  readonly arguments: readonly DescribedArgument[];
  readonly commands: readonly Described[];
}

/** Reads what a command and those below it accept. */
export function described(command: Command, path: readonly string[] = []): Described {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  return {
    path,
    says: firstSentence(command.summary() || command.description()),
    options: help.visibleOptions(command).map(describedOption),
    arguments: command.registeredArguments.map(describedArgument),
    commands: commands.map((each) => described(each, [...path, each.name()])),
  };
}

/** The command and all below it. */
export function allCommands(command: Described): readonly Described[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

function describedOption(option: Option): DescribedOption {
  const { short, long, description, argChoices } = option;
  const names = [short, long].filter((name) => name !== undefined);
  const takesValue = option.required || option.optional;
  const [, placeholder = ""] = /[<[]([^>\]]*)/.exec(option.flags) ?? [];
  const kind = option.attributeName() === "chat" ? "chat" : kindOf(placeholder);
  const values = takesValue ? (argChoices ?? kind) : undefined;
  return { names, says: firstSentence(description), values };
}

function describedArgument(argument: Argument): DescribedArgument {
  const name = argument.name();
  return { name, values: argument.argChoices ?? kindOf(name), isRepeated: argument.variadic };
}

/** What a place is called tells what belongs there. */
const kinds: Readonly<Record<string, Values>> = {
  chat: "chat",
  dir: "directory",
  file: "file",
  path: "file",
  store: "directory",
};

function kindOf(placeholder: string): Values {
  return kinds[placeholder] ?? "anything";
}

/** On one line, as shells show it beside a word. */
function firstSentence(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return (/^.*?(?=\.(?: |$))/.exec(line)?.[0] ?? line).slice(0, 80);
}

/** One word of a shell, whatever it holds. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
