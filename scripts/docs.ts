// node scripts/docs.ts: writes the generated parts of docs/: tables out of the source, and samples out
// of a run. Such a part stands between `<!-- generated: name -->` and `<!-- end -->`.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCodes } from "../src/core/errors.ts";
import { ResponderError } from "../src/core/models/responder.ts";
import type { StoredRecord } from "../src/core/storage/log-store.ts";
import { openThroughline, type Throughline } from "../src/core/throughline.ts";
import type { Turns } from "../src/core/turns/turns.ts";
import { serverCodes } from "../src/server/problem.ts";
import type { Contract } from "../src/testing/contract.ts";
import {
  documentStoreContract,
  fileStoreContract,
  leaseContract,
  logStoreContract,
} from "../src/testing/testing.ts";
import { HeldClock } from "../test/support/held-clock.ts";
import { type ScriptedStep, scriptedResponder } from "../test/support/scripted-responder.ts";
import { fenced, table } from "./docs-bodies.ts";
import { companionSamples, emotionsFile } from "./docs-companion.ts";
import { referenceParts } from "./docs-reference.ts";

/** The files that have generated parts. */
export const generatedFiles = [
  "docs/reference/errors.md",
  "docs/reference/http.md",
  "docs/reference/cli.md",
  "docs/reference/api.md",
  "docs/reference/configuration.md",
  "docs/internals/drivers.md",
  "docs/formats/log.md",
  "docs/formats/document.md",
  "docs/formats/companion.md",
  "docs/formats/emotions.md",
] as const;

const mark = /(<!-- generated: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The text of a page with every generated part made again. */
export function withGenerated(text: string, parts: ReadonlyMap<string, string>): string {
  return text.replace(mark, (_, start: string, name: string, end: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new TypeError(`nothing generates "${name}"`);
    return `${start}${part}${end}`;
  });
}

/** Everything that can be generated, by name; each ends with a line break. */
export async function generateParts(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["errors", codeTable(errorCodes)],
    ["server-errors", codeTable(serverCodes)],
    ["log-contract", contractTable(logStoreContract)],
    ["document-contract", contractTable(documentStoreContract)],
    ["file-contract", contractTable(fileStoreContract)],
    ["lease-contract", contractTable(leaseContract)],
    ["emotions-file", emotionsFile()],
    ...Object.entries(await referenceParts()),
    ...Object.entries(await sampleRun()),
    ...Object.entries(await companionSamples()),
  ]);
}

function codeTable(codes: Readonly<Record<string, { status: number; says: string }>>): string {
  const rows = Object.entries(codes).map(([code, { status, says }]) => [
    `\`${code}\``,
    status,
    says,
  ]);
  return table(["code", "HTTP", "what it says"], rows);
}

/** `reopens`: the next process looks. */
function contractTable({ clauses }: Contract): string {
  const rows = clauses.map(({ says, reopens }) => [says, reopens ? "yes" : ""]);
  return `${clauses.length} promises.\n\n${table(["promise", "reopens"], rows)}`;
}

/** A companion of the day before yesterday: the same bytes every time. */
async function sampleRun(): Promise<Readonly<Record<string, string>>> {
  const home = mkdtempSync(join(tmpdir(), "throughline-docs-"));
  try {
    const clock = new HeldClock("2026-03-04T09:15:00.000Z");
    let ids = 0;
    const newId = () => `r${++ids}`;
    const model = { provider: "ollama", model: "qwen3" };
    const freshness = { idleTimeoutMinutes: 240, timeZone: "UTC" };
    await using throughline = await openThroughline({ home, clock, newId, freshness, ...model });
    const script: ScriptedStep[][] = [];
    const responder = scriptedResponder(script, model);
    const turns = await throughline.turns({ model: responder, persona: "You are Nova." });
    const run = { home, clock, throughline, turns, script };
    return {
      "sample-log": fenced(await oneTurn(run)),
      "sample-records": await everyRecord(run),
      "sample-document": await twoWrites(run),
    };
  } finally {
    rmSync(home, { recursive: true });
  }
}

interface Run {
  readonly home: string;
  readonly clock: HeldClock;
  readonly throughline: Throughline;
  readonly turns: Turns;
  readonly script: ScriptedStep[][];
}

/** What a log holds after its first turn. */
async function oneTurn({ home, clock, turns, script }: Run): Promise<string> {
  const asked = Promise.withResolvers<void>();
  script.push([{ type: "wait", until: asked.promise }, "No: there is no air to carry a song."]);
  const turn = turns.submit("local:me", { id: "t1", content: "Does the moon sing?" });
  for await (const { type } of turn.progress()) if (type === "accepted") break;
  clock.pass(1_500);
  asked.resolve();
  await turn.done;
  return textOf(home, "local:me");
}

/** One line for every kind of record, and for every event of those that have events. */
async function everyRecord(run: Run): Promise<string> {
  const { clock, throughline, turns, script } = run;
  const { chats, sessions } = throughline;
  const chat = "telegram:42";
  // A turn with a tool call, and a message that comes while it runs.
  const asked = Promise.withResolvers<void>();
  const call = { name: "clock", arguments: '{"city":"Lund"}' };
  script.push([
    { type: "tool-call", call: { id: "c1", type: "function", function: call } },
    { type: "wait", until: asked.promise },
    { type: "tool-result", toolCallId: "c1", toolName: "clock", content: "09:15", isError: false },
    "A quarter past nine.",
  ]);
  script.push(["You are welcome."]);
  const first = turns.submit(chat, { id: "t2", content: "What time is it in Lund?" });
  for await (const { type } of first.progress()) if (type === "accepted") break;
  clock.pass(800);
  const second = turns.submit(chat, { id: "t3", content: "Thanks!" });
  await chats.exclusively(chat, async () => undefined);
  asked.resolve();
  await Promise.all([first.done, second.done]);
  // The person asks for another answer.
  script.push(["Any time."]);
  await (await turns.retry(chat, { id: "again" })).done;
  const lines = linesOf(run, chat);
  // Three quarters of an hour later a model fails, twice.
  clock.pass(45 * 60_000);
  const dead = new ResponderError("the line is dead", { kind: "unavailable" });
  for (const _ of [1, 2]) script.push([{ type: "fail", error: dead }]);
  await turns.submit(chat, { id: "t4", content: "Are you there?" }).done;
  await (await turns.answer(chat)).done;
  await turns.dismiss(chat);
  await chats.setMetadata(chat, { pinned: true });
  await chats.setConsolidated(chat, 2);
  await chats.takeBack(chat, ["t3:answer:again"]);
  await chats.change(chat, (transaction) => {
    transaction.control("erasure", { target: "t4" }, "erasure:t4"); // as where several processes write
    const part = '{"type":"input_image"}'; // of a long message
    const id = "part:8d0a"; // and a hash, of which this is the beginning
    transaction.part({ id, _type: "metadata", kind: "part", part });
    const summary = "They asked for the time in Lund.";
    transaction.control("compaction", { up_to_seq: 6, summary }, "compaction:9c41");
  });
  await sessions.syncTarget(chat, { model: "qwen3:8b" });
  await sessions.resetProvider(chat, "ollama");
  clock.pass(300 * 60_000);
  await sessions.resolve(chat);
  await sessions.reset(chat);
  await chats.clear(chat);
  lines.push(...linesOf(run, chat).slice(lines.length));
  await chats.erase(chat, "t4");
  const erased = linesOf(run, chat).filter((line) => line.includes('"kind":"erased"'));
  lines.push(...erased);
  return samples(lines);
}

/** The record lines of a log, as they lie in the file. */
function linesOf({ home }: Run, chat: string): string[] {
  return textOf(home, chat)
    .split("\n")
    .filter((line) => line.startsWith('{"id":'));
}

/** What the file of a chat holds, which is open: without the preallocated space behind it. */
function textOf(home: string, chat: string): string {
  const file = join(home, "chats", `${chat.replace(":", "%3a")}.jsonl`);
  return readFileSync(file, "utf8").replace(/\0+$/, "");
}

/** The first line of each sort, under the name of the sort. */
function samples(lines: readonly string[]): string {
  const sorts = new Map<string, string>();
  for (const line of lines) {
    const { kind, event, role } = JSON.parse(line) as StoredRecord;
    const name = kind === undefined ? `message, ${role}` : [kind, event].filter(Boolean).join(", ");
    if (!sorts.has(name)) sorts.set(name, line);
  }
  const sorted = [...sorts].sort(([a], [b]) => order(a) - order(b));
  return sorted.map(([name, line]) => `${name}:\n\n${fenced(`${line}\n`)}`).join("\n");
}

const kinds = ["message", "session", "usage", "turn", "pending_input", "metadata"];
const hiding = ["replacement", "removal", "erasure"];
const order = (name: string) => {
  const at = [...kinds, ...hiding].indexOf(name.split(",", 1)[0] ?? "");
  return at < 0 ? kinds.length + hiding.length : at;
};

async function twoWrites({ home, throughline }: Run): Promise<string> {
  const documents = throughline.storage.documents("session");
  await documents.write("session", { version: 1, last_person_seen: "Ori" });
  await documents.write("session", { version: 1, last_person_seen: "Ada" });
  const read = (name: string) => readFileSync(join(home, "session", name), "utf8");
  return [
    `\`session/session.json\`:\n\n${fenced(read("session.json"), "json")}`,
    `\`session/session.json.bak\`:\n\n${fenced(read("session.json.bak"), "json")}`,
  ].join("\n");
}

if (import.meta.main) {
  const parts = await generateParts();
  for (const file of generatedFiles) {
    writeFileSync(file, withGenerated(readFileSync(file, "utf8"), parts));
  }
}
