import { z } from "zod";
import { estimateTokens } from "../../core/chat/model-row.ts";
import { json, type Router } from "../../server/router.ts";
import { version } from "../../server/schemas.ts";
import type { FactsFile } from "../commands/facts-file.ts";
import { factLines, factsChars, factsText } from "../facts.ts";
import { answer } from "./schemas.ts";

const factsBody = () =>
  z
    .strictObject({
      facts: z.string().meta({
        description: "The new text of `facts.md`, one fact a line. Blank removes the file.",
      }),
      version: version(),
    })
    .meta({ id: "FactsChange" });

export function addFactsRoutes(router: Router, facts: FactsFile): void {
  const { isShared } = router.ports.throughline.storage.cluster;
  const view = () => {
    const file = facts.read();
    const { text = "" } = file;
    return {
      facts: text,
      lines: factLines(text).map(({ text, used }) => {
        return { text, used, tokens: estimateTokens(Buffer.byteLength(text)) };
      }),
      tokens: text.trim() === "" ? 0 : estimateTokens(Buffer.byteLength(factsText(text))),
      ...facts.shown(file),
      this_server_only: isShared,
      max_characters: factsChars,
    };
  };
  router.get("/api/facts", {
    id: "getFacts",
    summary: "Get the facts that the companion remembers",
    answers: answer("The facts as they are now.", "factsState"),
    answer: () => json(view()),
  });
  router.post("/api/facts", {
    id: "setFacts",
    body: factsBody,
    summary: "Change the facts that the companion remembers",
    description:
      "Writes `facts.md` of the home. The next answer uses it. 409: the file was changed since " +
      "`version` was read, or this server keeps nothing; nothing was changed.",
    answers: answer("The facts as they are now.", "factsState"),
    answer: ({ body }) => {
      facts.write(body.facts, body.version);
      return json(view());
    },
  });
}
