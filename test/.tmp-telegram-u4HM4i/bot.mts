import { echo } from "../support/telegram-model.ts";
// Confirms a message to Telegram only after its answer was stored, and sent or refused.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { TurnAnswer } from "../.././dist/index.js";
import { type ErrorCode, errorCodes, offlineResponder, openThroughline } from "../.././dist/index.js";

const { TELEGRAM_URL: server = "https://api.telegram.org", TELEGRAM_TOKEN: token } = process.env;
const folder = process.env["STATE_DIRECTORY"] ?? "telegram-bot"; // systemd sets it
const throughline = await openThroughline({ home: `${folder}/home` });
const turns = await throughline.turns({ model: echo(), persona: "You are Nova." });

async function call(method: string, fields: Record<string, string>) {
  const [body, signal] = [new URLSearchParams(fields), AbortSignal.timeout(30_000)];
  const response = await fetch(`${server}/bot${token}/${method}`, { method: "POST", body, signal });
  const { ok, result, error_code: code, ...why } = JSON.parse(await response.text());
  if (ok) return result;
  const status = code < 500 && code !== 409 && code !== 429 ? code : 503;
  throw Object.assign(new Error(`${method}: ${why.description}`), { status, ...why.parameters });
}

/** Repeats what fails for a reason that passes: a lost network, a rate limit, a full disk. */
function patiently<T>(work: () => Promise<T>, seconds = 0.5): Promise<T> {
  return work().catch(async (error) => {
    if ((error.status ?? errorCodes[error.code as ErrorCode]?.status ?? 503) !== 503) throw error;
    console.error(error);
    await wait(1_000 * (error.retry_after ?? seconds));
    return patiently(work, Math.min(2 * seconds, 30));
  });
}

// What Telegram takes at once: the rest, or up to a line end, a space, or the end of a character.
const pieces = /.{1,4096}$|.{2048,4095}\n|.{2048,4095} |.{1,4095}[^\ud800-\udbff]/gs;
let sent = readFileSync(`${folder}/sent`, { encoding: "utf8", flag: "a+" }).split("\n");
let sending = Promise.resolve(); // one piece at a time: a kill leaves at most one in doubt

/** Sends an answer, without the pieces that were sent before. */
async function send(chatId: string, { turnId, assistant, reason }: TurnAnswer) {
  const text = assistant?.content.trim() || `Sorry: ${reason ?? "I found no words"}`;
  for (const [n, piece] of (text.match(pieces) ?? []).entries()) {
    const key = `${chatId} ${turnId} ${assistant ? n : "sorry"}`;
    if (piece.trim() === "" || sent.includes(key)) continue;
    const work = async () => {
      await call("sendMessage", { chat_id: chatId.slice("telegram:".length), text: piece });
      sent = [...sent.slice(-999), key];
      writeFileSync(`${folder}/sent.new`, sent.join("\n"));
      renameSync(`${folder}/sent.new`, `${folder}/sent`);
    };
    sending = sending.then(work, work);
    await sending;
  }
}

const queues = new Map<string, Promise<void>>(); // by chat: its answers come in order
function answer(chatId: string, turn: () => Promise<TurnAnswer>) {
  const work = () => patiently(turn).then((answer) => patiently(() => send(chatId, answer)));
  queues.set(chatId, (queues.get(chatId) ?? Promise.resolve()).then(work).catch(console.error));
}

const { chats: open } = await throughline.chats.list({ unanswered: true, limit: 1_000 });
for (const { chat_id: id } of open)
  if (id.startsWith("telegram:")) answer(id, async () => (await turns.answer(id)).done);

const updates = new Map<number, unknown>(); // that are not confirmed
for (let offset = 0; ; ) {
  const page = await patiently(() => call("getUpdates", { offset: `${offset}`, timeout: "20" }));
  for (const { update_id: update, message } of page) {
    if (updates.has(update)) continue;
    const chatId = `telegram:${message?.chat.id}`;
    const input = { id: `telegram-${message?.message_id}`, content: message?.text };
    if (input.content) answer(chatId, async () => turns.submit(chatId, input).done);
    const answered = queues.get(chatId)?.then(() => updates.set(update, undefined));
    updates.set(update, answered);
  }
  await Promise.race([wait(1_000), updates.values().next().value]);
  for (const [update, isRunning] of updates) {
    if (isRunning) break;
    updates.delete(update);
    offset = update + 1;
  }
}
