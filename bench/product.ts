// The public API, from the build that users run; and the turn that is measured.
import { readdirSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type * as Api from "../src/index.ts";

/** The root of each product that is measured, with its slash: this one, and the one of `--against`. */
export const roots: Readonly<Record<string, string>> = {
  ours: new URL("../", import.meta.url).href,
  ...(process.env["THROUGHLINE_AGAINST"] && {
    base: pathToFileURL(`${process.env["THROUGHLINE_AGAINST"]}/`).href,
  }),
};

/** The file that users of a product import. */
export const entryOf = (product: string) => `${roots[product]}dist/index.js`;

/** Loads a product as it is built. */
export const load = async (product: string) => (await import(entryOf(product))) as typeof Api;

export const { openThroughline, offlineResponder } = await load("ours");

export const answer = "the grey whale swims from the north to the warm bays each winter ".repeat(8);

/** A turn as `chats.append` takes it: a question, and an answer of some 500 bytes. */
export function turn(word = "winter"): Api.MessageInput[] {
  return [
    { role: "user", content: `Tell me where the whales of the north go in ${word}.` },
    { role: "assistant", content: answer, provider: "ollama", model: "qwen3" },
  ];
}

/** A model that costs nothing: it gives the same answer at once. */
export const echo: Api.Responder = {
  ...{ provider: "echo", model: "echo-1", window: undefined },
  async *respond() {
    yield { type: "text", text: answer };
    yield { type: "end", finish: "stop", usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } };
  },
};

export interface TurnSize {
  /** What one turn adds to the file of its chat. */
  readonly bytes: number;
  /** The JSON of its records, as they are stored. */
  readonly json: number;
}

/** Measures it in a home of its own, which the caller removes with all else in `dir`. */
export async function turnSize(dir: string): Promise<TurnSize> {
  const home = `${dir}/size`;
  const count = 100;
  const lengthAfter = async (turns: number) => {
    const throughline = await openThroughline({ home });
    for (let i = 0; i < turns; i++) await throughline.chats.append("probe", turn());
    let json = 0;
    for await (const record of throughline.chats.records("probe")) {
      json += JSON.stringify(record).length + 1;
    }
    await throughline.close();
    const [file = ""] = readdirSync(`${home}/chats`).filter((name) => name.endsWith(".jsonl"));
    return { bytes: statSync(`${home}/chats/${file}`).size, json };
  };
  const before = await lengthAfter(1);
  const after = await lengthAfter(count);
  return {
    bytes: Math.round((after.bytes - before.bytes) / count),
    json: Math.round((after.json - before.json) / count),
  };
}
