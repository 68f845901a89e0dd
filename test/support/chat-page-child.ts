// A server of a chat page, without the network, on a home: one message after the other until its parent kills
// it. It notes in its output what its page has seen. Arguments: the home, and its name.
import { writeSync } from "node:fs";
import { openThroughline } from "../../src/core/throughline.ts";
import { pageRoutes, said, toChat } from "./chat-page-words.ts";

const [home = "", name = ""] = process.argv.slice(2);

/** At once: what a killed process has not written is lost. */
const note = (what: string) => writeSync(1, `${what}\n`);

const throughline = await openThroughline({ home });
const routes = pageRoutes(throughline);

for (let n = 1; ; n++) {
  const id = `${name}-${n}`;
  const response = await routes.POST(toChat([said(id)]));
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("data:") && !text.includes("[DONE]")) note(`began ${id}`);
  }
  note(`done ${id}`);
}
