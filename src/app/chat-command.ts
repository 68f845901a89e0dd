import { type AddCommand, notEmpty } from "../cli/command.ts";

export const addChatCommand: AddCommand = (program, context) => {
  program
    .command("chat")
    .summary("Chat in this terminal.")
    .description(
      "Chat in this terminal. Every message is kept, and the next chat continues from there. Ctrl-C " +
        'stops an answer. At the prompt, Ctrl-C, "goodbye" and "stop" end the chat.',
    )
    .option("--chat <id>", "the id of the chat", notEmpty, "local:me")
    .takes("home", "store", "model", "window", "ephemeral")
    .examples(
      [
        ["chat", "continue where you stopped"],
        ["chat --chat work", "a separate chat"],
        ["chat --model ollama/qwen3", "use this model from now on"],
        ["chat --ephemeral", "store nothing"],
        ["chat < questions.txt", "one message per line, answers on stdout"],
      ],
      `In the chat: /answer /attach /dismiss /model /new /newall /clear /help /quit
While \`throughline serve\` has the home, this asks that server; --window and a model by URL are then refused.`,
    )
    .action(async (flags) => {
      const { chat } = await import("./chat.ts");
      await chat(flags, context);
    });
};
