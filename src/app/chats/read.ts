import { dirname } from "node:path";
import type { z } from "zod";
import { counted, json, localTime, table } from "../../cli/format.ts";
import { type Io, tell, untilStopped, write } from "../../cli/io.ts";
import { assertOutsideHome, removeLeftovers, writeWhole } from "../../cli/out-path.ts";
import type { Routes } from "../../cli/routes.ts";
import type { Flags, Settings } from "../../cli/settings.ts";
import type { ChatFormat } from "../../core/chat/chat-formats.ts";
import { type ChatRow, chatZone } from "../../core/chat/chat-head.ts";
import { resolveFreshness } from "../../core/chat/freshness.ts";
import type { StoredMessage } from "../../core/chat/message.ts";
import type { MessagePage } from "../../core/chat/message-page.ts";
import { printableLine } from "../../core/chat/printable.ts";
import { type RenderRow, renderRows } from "../../core/chat/render-rows.ts";
import type { JsonObject } from "../../core/json.ts";
import { shownModel } from "../../core/models/model-name.ts";
import type {
  chatList,
  chat as chatSchema,
  hits as hitList,
  session as sessionSchema,
} from "../../server/answer-schemas.ts";

/** What `GET /api/chats/{id}` answers, of which the session is a part. */
export type ServedChat = z.infer<typeof chatSchema>;

/** The options of the commands of `sessions`: each has some of them. */
export interface ChatFlags extends Flags {
  readonly limit?: number;
  readonly cursor?: string;
  readonly unanswered?: boolean;
  readonly messages?: number;
  readonly chat?: string;
  readonly format?: ChatFormat;
  readonly out?: string;
  readonly provider?: string;
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** What a command of `sessions` is given. */
export interface ChatCommand {
  readonly routes: Routes;
  readonly settings: Settings;
  readonly io: Io;
  readonly flags: ChatFlags;
  /** What was typed behind its name. */
  readonly args: readonly string[];
  /** That of the chat which is named first. */
  readonly path: string;
}

/** The zone of the person in a chat; where it tells none, the one of the settings. */
export function zoneOf({ freshness }: Settings, served?: Pick<ServedChat, "metadata">): string {
  return (
    (served && chatZone({ metadata: served.metadata as JsonObject })) ??
    resolveFreshness(freshness).timeZone
  );
}

type ChatPage = z.infer<typeof chatList>;
type Session = z.infer<typeof sessionSchema>;

export async function list({ routes, settings, io, flags }: ChatCommand): Promise<void> {
  const { limit, cursor, unanswered } = flags;
  const page = await routes.json<ChatPage>("/api/chats", { query: { limit, cursor, unanswered } });
  if (flags.json) return write(io.output, json(page));
  if (page.chats.length === 0) return tell(io, noChats(flags));
  const rows = page.chats.map((row) => [
    row.chat_id,
    localTime(row.last_active, zoneOf(settings)),
    String(row.message_count),
    shownModel(row),
    marksOf(row),
    row.title,
  ]);
  await write(io.output, table(["CHAT", "LAST ACTIVE", "MESSAGES", "MODEL", "", "TITLE"], rows));
  if (page.cursor !== undefined) await tell(io, `More: --cursor ${page.cursor}`);
}

export async function show({ routes, settings, io, flags, path }: ChatCommand): Promise<void> {
  const served = await routes.json<ServedChat>(path);
  const [chat, zone] = [served.row, zoneOf(settings, served)];
  const { session: schema } = await import("../../server/answer-schemas.ts");
  const session = chat.generation === 0 ? null : schema.parse(served);
  const { messages: limit } = flags;
  const page: MessagePage =
    limit === 0 ? { messages: [] } : await routes.json(`${path}/messages`, { query: { limit } });
  if (flags.json) return write(io.output, json({ chat, session, ...page }));
  await write(io.output, describe(chat, session, zone));
  await writeMessages(io, page.messages, zone);
  if (chat.unanswered) {
    await tell(io, "\nA message is unanswered. Use `sessions answer` or `sessions dismiss`.");
  }
}

export async function search({ routes, settings, io, flags, args }: ChatCommand): Promise<void> {
  const { limit, chat: chat_id } = flags;
  const asked = { query: { query: args.join(" "), limit, chat_id, prefix: true } };
  const { hits, more } = await routes.json<z.infer<typeof hitList>>("/api/search", asked);
  const found =
    chat_id === undefined ? (await routes.json<ChatPage>("/api/chats", asked)).chats : [];
  const zone = zoneOf(settings);
  if (flags.json) return write(io.output, json({ hits, chats: found, more }));
  const isMore = more === true || [hits, found].some(({ length }) => length === limit);
  const note = isMore ? " There may be more: raise --limit, or search with more words." : "";
  const named = found.filter(({ match_count }) => match_count === 0);
  if (named.length > 0) await writeNamed(io, named, zone);
  if (hits.length === 0) {
    const says = `No message${named.length > 0 ? "" : ", title or chat id"} contains these words.`;
    return tell(io, `${says}${note}`);
  }
  const rows = hits.map(({ chat_id, message }) => [
    chat_id,
    localTime(message.timestamp, zone),
    message.role,
    message.id,
    message.content,
  ]);
  await write(io.output, table(["CHAT", "WHEN", "WHO", "MESSAGE", "TEXT"], rows));
  const where = counted(new Set(hits.map(({ chat_id }) => chat_id)).size, "chat");
  await tell(io, `${counted(hits.length, "message")} in ${where}.${note}`);
}

/** Chats of which only the title or the id was found. */
async function writeNamed(io: Io, chats: readonly ChatRow[], zone: string): Promise<void> {
  const rows = chats.map(({ chat_id, last_active, title }) => {
    return [chat_id, localTime(last_active, zone), title];
  });
  await write(io.output, `${table(["CHAT", "LAST ACTIVE", "TITLE"], rows)}\n`);
}

function noChats({ unanswered, cursor }: ChatFlags): string {
  if (unanswered) return "There are no unanswered messages.";
  return cursor === undefined
    ? "No chats yet. Start one with `throughline chat`."
    : "No more chats.";
}

function marksOf(row: ChatRow): string {
  const marks = [row.unanswered ? "unanswered" : "", row.damaged ? "DAMAGED" : ""];
  return marks.filter((mark) => mark !== "").join(" ");
}

function describe(chat: ChatRow, period: Session | null, zone: string): string {
  const lines: (readonly [string, string])[] = [
    ["Chat", chat.chat_id],
    ["Title", chat.title],
    ["Messages", String(chat.message_count)],
    ["Created", localTime(chat.created_at, zone)],
    ["Last active", localTime(chat.last_active, zone)],
    ["State", marksOf(chat)],
  ];
  if (period !== null) {
    lines.push(["Session", `number ${period.generation}, on ${shownModel(period)}`]);
    for (const [provider, bucket] of Object.entries(period.provider_sessions)) {
      const { message_count, total_tokens, total_cost_usd } = bucket;
      const cost = total_cost_usd > 0 ? `, ${total_cost_usd.toFixed(4)} USD` : "";
      const unpriced = bucket.unpriced_tokens
        ? `, ${bucket.unpriced_tokens} without a known price`
        : "";
      const tokens = `${counted(total_tokens, "token")}${unpriced}`;
      const used = `${counted(message_count, "answer")}, ${tokens}${cost}`;
      lines.push([`  ${printableLine(shownModel({ provider, model: "" }))}`, used]);
    }
  }
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name.padEnd(width)}  ${printableLine(value)}\n`)
    .join("");
}

const speakers = { user: "You", assistant: "Companion", tool: "Tool", system: "System" } as const;

async function writeMessages(
  io: Io,
  messages: readonly StoredMessage[],
  zone: string,
): Promise<void> {
  let next = 0;
  for await (const row of renderRows(messages, zone, true)) {
    // One row for each message, in order; a row does not know its id, and people need it.
    const id = row.kind === "message" ? (messages[next++]?.id ?? "") : "";
    await write(io.output, `\n${rowText(row, id)}`);
  }
}

function rowText(row: RenderRow, id: string): string {
  if (row.kind === "day") return `${row.day}\n`;
  if (row.kind === "note") return `(${row.note})\n`;
  const by = row.by === "" ? "" : ` (${row.by})`;
  const marks = row.marks.map((mark) => ` [${mark}]`).join("");
  const speaker = row.marks.includes("redacted") ? "Message" : speakers[row.role];
  const parts = [
    `${row.time} ${speaker}${by}${marks}  ${printableLine(id)}`,
    ...(row.text === "" ? [] : [indented(row.text)]),
    ...row.calls.map((call) => indented(`calls ${call.name} ${call.arguments}`)),
    ...row.files.map(({ label }) => indented(`file ${label}`)),
  ];
  return parts.map((part) => `${part}\n`).join("");
}

const indented = (text: string) => text.replace(/^/gm, "  ");

/** Writes a chat to stdout or into a new file, in bounded memory however long it is. */
export async function exportChat({
  routes,
  settings,
  io,
  flags,
  path,
}: ChatCommand): Promise<void> {
  const { out, format } = flags;
  if (out !== undefined) await assertOutsideHome(out, settings.home);
  const pieces = await routes.text(`${path}/export`, { query: { format } });
  if (out === undefined) {
    for await (const piece of pieces) await write(io.output, piece);
    return;
  }
  await untilStopped(io, (signal) => writeWhole(out, pieces, { signal }));
  await removeLeftovers(dirname(out));
  await tell(io, `Written: ${out}`);
}
