import { createHash } from "node:crypto";
import { checkChatId } from "../core/chat/chat-log.ts";
import type { Period } from "../core/chat/period.ts";
import type { Transaction } from "../core/chat/transaction.ts";
import type { Json, JsonObject } from "../core/json.ts";
import {
  attempt,
  type ImportOptions,
  type ImportReport,
  newReport,
  refusalOf,
  type Source,
  setAside,
} from "./import.ts";
import { chatOfKey, fromDuctor, type Imported } from "./legacy.ts";
import { readJsonSource } from "./read-source.ts";

/** The field of a chat's head that keeps what ours has no place for, for `toDuctor`. */
export const ductorField = "ductor";

/**
 * Imports a `sessions.json`: an object of sessions by chat id. Each becomes the session of its chat,
 * which is made if there is none. A chat that has a session keeps it. A repeated import changes
 * nothing; what is wrong with the file or an entry is in the report.
 *
 * @throws ThroughlineError what storing rejects with.
 */
export async function importSessions(
  source: Source,
  options: ImportOptions,
): Promise<ImportReport> {
  const report = newReport();
  await attempt(report, source.name, async () => {
    const taken = new Set<string>();
    for (const [key, entry] of Object.entries(await readJsonSource(source))) {
      const chatId = chatOfKey(key);
      const read = () => fromDuctor(entry, key, options.clock.now(), options.zone);
      const check = () => {
        checkChatId(chatId);
        read();
      };
      const reason = taken.has(chatId) ? "another entry is the same chat" : refusalOf(check);
      taken.add(chatId);
      if (reason === undefined) await importSession(source, read(), options, report);
      else {
        const place = { source: source.name, line: 0, offset: 0, bytes: bytesOf(entry) };
        setAside(report, [{ ...place, reason: `an entry is left out: ${reason}` }]);
      }
    }
  });
  return report;
}

function bytesOf(entry: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(entry));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return 0; // nested deeper than anything can be written
  }
}

async function importSession(
  source: Source,
  { chatId, state, unknown, notes }: Imported,
  { chats, dryRun, force }: ImportOptions,
  report: ImportReport,
): Promise<void> {
  const forgottenAt = force ? undefined : await chats.forgottenAt(chatId);
  if (forgottenAt !== undefined) {
    const about = { chat_id: chatId, source: source.name, forgotten_at: forgottenAt };
    report.refused.push({ ...about, messages: 0 });
    return;
  }
  const id = importId(chatId, state, unknown);
  const about = { chat_id: chatId, source: source.name, notes };
  if ((await chats.logs.find(chatId, id)) !== undefined) {
    report.sessions.push({ ...about, outcome: "known" });
  } else if ((await chats.state(chatId)).head?.session) {
    report.sessions.push({ ...about, outcome: "kept" });
  } else {
    if (!dryRun)
      await chats.change(chatId, (transaction) => begin(transaction, id, state, unknown));
    report.sessions.push({ ...about, outcome: "imported" });
  }
}

function begin(transaction: Transaction, id: string, state: Period, unknown: JsonObject): void {
  if (transaction.head.session !== null) return;
  const { generation, provider, model, started_at } = state;
  transaction.control("session", { event: "imported", generation, provider, model }, id);
  const hasUnknown = Object.keys(unknown).length > 0;
  const kept = hasUnknown ? unknown : transaction.head[ductorField];
  transaction.set({
    session: state,
    created_at: transaction.isNewChat ? started_at : transaction.head.created_at,
    [ductorField]: kept,
  });
}

/** The same for the same entry: an assumed stamp is the time of the import, and no part of it. */
function importId(chatId: string, state: Period, unknown: JsonObject): string {
  const { human_at, started_at, human_at_assumed, ...rest } = state;
  const stamps: Json = human_at_assumed === true ? [] : [human_at, started_at];
  const text = JSON.stringify([chatId, stamps, rest, unknown]);
  return `import:${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
}
