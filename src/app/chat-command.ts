import {
  type AddCommand,
  ephemeralOption,
  examples,
  homeOption,
  modelOption,
  notEmpty,
  storeOption,
} from "../cli/command.ts";

export const addChatCommand: AddCommand = (program, context) => {
  program
    .command("chat")
    .summary("Talk in this terminal.")
    .description(
      "Talk in this terminal. What is said is kept, and goes on where it stopped. Ctrl-C stops an " +
        'answer; at the prompt it ends the chat, and so do "goodbye" and "stop".',
    )
    .option("--chat <id>", "which conversation", notEmpty, "local:me")
    .addOption(homeOption())
    .addOption(storeOption())
    .addOption(modelOption())
    .addOption(ephemeralOption())
    .addHelpText(
      "after",
      `${examples([
        ["chat", "go on where you stopped"],
        ["chat --chat work", "a conversation of its own"],
        ["chat --model ollama/qwen3", "from now on with this model"],
        ["chat --ephemeral", "leave nothing behind"],
        ["chat < questions.txt", "one message a line, answers on stdout"],
      ])}
\nIn the chat: /answer /dismiss /new /newall /clear /help /quit`,
    )
    .action(async (flags) => {
      const { chat } = await import("./chat.ts");
      await chat(flags, context);
    });
};
