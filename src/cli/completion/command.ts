import { Argument } from "commander";
import { type AddCommand, type Context, examples } from "../command.ts";
import { write } from "../io.ts";
import type { Flags } from "../settings.ts";
import type { Described } from "./described.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** The script is made of the commands that the program has when this runs. */
export const addCompletionCommand: AddCommand = (program, { io }) => {
  program
    .command("completion")
    .summary("Print a script that completes commands in a shell.")
    .description(
      "Print a script that completes commands, options, their values, files and the ids of chats in a shell.",
    )
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .addHelpText(
      "after",
      examples([
        ["completion bash > ~/.local/share/bash-completion/completions/throughline", "for bash"],
        ["completion zsh > ~/.zfunc/_throughline", "for zsh, with fpath+=~/.zfunc before compinit"],
        ["completion fish > ~/.config/fish/completions/throughline.fish", "for fish"],
      ]),
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { described } = await import("./described.ts");
      await write(io.output, await scriptFor(shell, described(program)));
    });
};

/** What the scripts ask. @param listChats the ids, newest first. */
export const completeChatsCommand =
  (listChats: (flags: Flags, context: Context) => Promise<readonly string[]>): AddCommand =>
  (program, context) => {
    program
      .command("complete-chats", { hidden: true })
      .argument("[words...]", "what was typed so far")
      .action(async (words: readonly string[]) => {
        const ids = await listChats(flagsIn(words, context), context);
        const lines = ids.filter(isPlain).map((id) => `${id}\n`);
        await write(context.io.output, lines.join(""));
      });
  };

async function scriptFor(shell: (typeof shells)[number], program: Described): Promise<string> {
  if (shell === "bash") return (await import("./bash.ts")).bashScript(program);
  if (shell === "zsh") return (await import("./zsh.ts")).zshScript(program);
  return (await import("./fish.ts")).fishScript(program);
}

/** The home and the store that a command line names. */
function flagsIn(words: readonly string[], { env }: Context): Flags {
  const saidFor = (name: string) => {
    const index = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
    const word = words[index];
    return word === name ? words[index + 1] : word?.slice(name.length + 1);
  };
  const home = saidFor("--home")?.replace(/^~(?=\/|$)/, env.userHome);
  return { home, store: saidFor("--store") };
}

/** No shell finds more in it than a word: people would run what others named a chat. */
function isPlain(id: string): boolean {
  return /^[\p{L}\p{N}_.:@+,/%][\p{L}\p{N}_.:@+,/%-]*$/u.test(id);
}
