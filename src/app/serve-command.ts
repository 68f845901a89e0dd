import type { AddCommand } from "../cli/command.ts";

export const addServeCommand: AddCommand = (program, context) => {
  program
    .command("serve")
    .summary("Serve the web page and the HTTP API.")
    .description("Serve the web page and the HTTP API until Ctrl-C. Prints one line when ready.")
    .takes("home", "host", "port", "store", "model", "window", "tokenFile", "ephemeral")
    .examples(
      [
        ["serve", "on http://127.0.0.1:7423, for this machine only"],
        ["serve --model ollama/qwen3", "new sessions use a local model"],
        ["serve --token-file ~/.throughline/token", "require a token, if others use this machine"],
        ["serve --host 0.0.0.0 --token-file token", "for the network. See below, and add TLS"],
        [
          "serve --store postgres://me@db/chats",
          "store messages in PostgreSQL, for any number of servers",
        ],
        ["serve --ephemeral --port 0", "try it without storing anything"],
      ],
      `With --host 0.0.0.0 or ::, requests from other machines get 403 until you list the names they use for this
one in <home>/throughline.config.json: {"hosts": ["nova.example", "192.168.1.7"]}

With a token, a browser signs in with a code: press Enter in this terminal to get one.
Scripts send the token from the file: Authorization: Bearer <token>.`,
    )
    .action(async (flags) => {
      const { serve } = await import("./serve.ts");
      await serve(flags, context);
    });
};
