// Real servers that are killed, and how a client talks to them over HTTP.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Process } from "./command-line.ts";

/** `throughline serve` in a process of its own, of no test: who starts it kills it. */
export class ServerProcess extends Process {
  constructor(home: string) {
    super(undefined, ["serve", "--port", "0"], { home });
  }
}

/** A directory for homes that is removed only after `work` succeeded; its place is in the error. */
export async function inKeptDirectory(
  what: string,
  work: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = fs.mkdtempSync(join(tmpdir(), "throughline-kill-"));
  try {
    await work(directory);
  } catch (cause) {
    throw new Error(`${what}: see ${directory}`, { cause });
  }
  fs.rmSync(directory, { recursive: true, force: true });
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of many routes.
export async function getJson(url: string, path: string): Promise<any> {
  const response = await fetch(url + path);
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return JSON.parse(text);
}

export interface Message {
  readonly id: string;
  readonly seq: number;
  readonly role: string;
  readonly content: string;
}

export const messagesPath = (chat: string) => `/api/chats/${encodeURIComponent(chat)}/messages`;

/** Says something. @returns what was answered, or `undefined` if nobody knows what became of it. */
export async function say(url: string, chat: string, key: string, content: string) {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url + messagesPath(chat), {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ content }),
    });
    text = await response.text();
  } catch {
    return undefined; // the connection went with the server
  }
  // A server that was told to end says so; the message may be stored all the same.
  if (response.status === 503) return undefined;
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as { readonly user: Message; readonly assistant: Message };
}

/** Every message of a chat, oldest first, read a page at a time. */
export async function readChat(url: string, chat: string, limit: number): Promise<Message[]> {
  const pages: Message[][] = [];
  let before: number | undefined;
  do {
    const from: string = before === undefined ? "" : `&before=${before}`;
    const page = await getJson(url, `${messagesPath(chat)}?limit=${limit}${from}`);
    pages.push(page.messages);
    before = page.before;
  } while (before !== undefined);
  return pages.reverse().flat();
}

/** The ids of every chat, read a page at a time. */
export async function listChats(url: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const from: string = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await getJson(url, `/api/chats?limit=${limit}${from}`);
    ids.push(...page.chats.map((row: { readonly chat_id: string }) => row.chat_id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}
