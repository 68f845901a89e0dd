import {
  type AddCommand,
  ephemeralOption,
  examples,
  homeOption,
  modelOption,
  notEmpty,
  storeOption,
  wholeNumber,
} from "../cli/command.ts";

export const addServeCommand: AddCommand = (program, context) => {
  program
    .command("serve")
    .summary("Serve the page and the HTTP API.")
    .description("Serve the page and the HTTP API until Ctrl-C. Prints one line when it is ready.")
    .addOption(homeOption())
    .option(
      "--host <address>",
      "listen here (127.0.0.1); any other address needs a token",
      notEmpty,
    )
    .option(
      "--port <port>",
      "listen on this port (7423); 0 takes a free one",
      wholeNumber(0, 65_535),
    )
    .addOption(storeOption())
    .addOption(modelOption())
    .option("--token-file <file>", "ask for the token in this file; it is made if absent", notEmpty)
    .addOption(ephemeralOption())
    .addHelpText(
      "after",
      `${examples([
        ["serve", "at http://127.0.0.1:7423, for this machine only"],
        ["serve --model ollama/qwen3", "new sessions talk to a local model"],
        ["serve --token-file ~/.throughline/token", "with a token, where others share the machine"],
        ["serve --host 0.0.0.0 --token-file token", "for the network: see below; put TLS in front"],
        [
          "serve --store postgres://me@db/chats",
          "memories in PostgreSQL; as many servers as you like",
        ],
        ["serve --ephemeral --port 0", "to try it out, leaving nothing behind"],
      ])}
\nWith --host 0.0.0.0 or ::, other machines are refused (403) by every name but those listed under the key
hosts in <home>/throughline.config.json: {"hosts": ["nova.example", "192.168.1.7"]}

With a token, a browser signs in with a code: press Enter in this terminal for one.
Scripts send the token of the file: Authorization: Bearer <token>.`,
    )
    .action(async (flags) => {
      const { serve } = await import("./serve.ts");
      await serve(flags, context);
    });
};
