// Stands in for Telegram: the parts of its Bot API that a bot with long polling uses, with their refusals.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Update {
  readonly update_id: number;
  readonly message: {
    readonly message_id: number;
    readonly chat: { readonly id: number };
    readonly text?: string;
  };
}

/** What becomes of a request: "lost" is carried out, but the bot gets no reply. */
export type Fate = "ok" | "lost" | "dropped" | keyof typeof refusals;

interface Delivered {
  readonly chat: number;
  readonly text: string;
}

const refusals = {
  blocked: [403, "Forbidden: bot was blocked by the user", {}],
  limited: [429, "Too Many Requests: retry after 1", { retry_after: 1 }],
  conflict: [409, "Conflict: terminated by other getUpdates request", {}],
  broken: [502, "Bad Gateway", {}],
} as const;

/** How many updates `getUpdates` answers with at most. */
const pageSize = 100;
const longestMessage = 4_096;

export class TelegramServer {
  readonly delivered: Delivered[] = [];
  /** Decides about each `sendMessage` that Telegram would take. */
  fate: (sent: Delivered) => Fate = () => "ok";
  /** What becomes of the next `getUpdates`. */
  pollFates: Fate[] = [];
  /** How many requests came before the time that a limit had named. */
  impatient = 0;
  isRevoked = false;
  /** Those that were not confirmed, oldest first. */
  unconfirmed: Update[] = [];
  readonly #server = createServer((request, response) => void this.#take(request, response));
  /** Until when a chat takes nothing more. */
  readonly #limits = new Map<number, number>();
  readonly #watchers = new Set<() => void>();
  #wake = () => {};
  said = 0;
  #nextUpdate = 1_000;
  #nextMessage = 1;

  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  /** A person says something; without words it is a picture. */
  say(chat: number, text?: string): void {
    const words = text === undefined ? {} : { text };
    const message = { message_id: this.#nextMessage++, chat: { id: chat }, ...words };
    this.said++;
    this.unconfirmed.push({ update_id: this.#nextUpdate++, message });
    this.#wake();
  }

  /** Resolves once it is so: it is looked at after each request. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      await promise;
      this.#watchers.delete(resolve);
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const more of request.setEncoding("utf8")) body += more;
    const fields = fieldsOf(request, body);
    const method = request.url?.replace("/bot1:x/", "");
    if (this.isRevoked) refuse(response, 401, "Unauthorized");
    else if (method === "getUpdates") await this.#getUpdates(fields, response);
    else if (method === "sendMessage") this.#sendMessage(fields, response);
    else refuse(response, 404, "Not Found");
    for (const look of this.#watchers) look();
  }

  async #getUpdates(fields: Fields, response: ServerResponse): Promise<void> {
    const fate = this.pollFates.shift() ?? "ok";
    if (fate !== "ok") return this.#fail(response, fate);
    const offset = Number(fields["offset"] ?? 0);
    this.unconfirmed = this.unconfirmed.filter(({ update_id }) => update_id >= offset);
    for (const look of this.#watchers) look();
    this.#wake();
    if (this.unconfirmed.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      response.on("close", resolve);
      const timer = setTimeout(resolve, Number(fields["timeout"] ?? 0) * 1_000);
      await promise;
      clearTimeout(timer);
    }
    if (this.isRevoked) refuse(response, 401, "Unauthorized");
    else accept(response, this.unconfirmed.slice(0, pageSize));
  }

  #sendMessage(fields: Fields, response: ServerResponse): void {
    const sent = { chat: Number(fields["chat_id"]), text: String(fields["text"] ?? "").trim() };
    const fault = faultOf(sent.text);
    if (fault !== undefined) return void refuse(response, 400, `Bad Request: ${fault}`);
    if (performance.now() < (this.#limits.get(sent.chat) ?? 0)) this.impatient++;
    const fate = this.fate(sent);
    if (fate === "limited") this.#limits.set(sent.chat, performance.now() + 990);
    if (fate === "ok" || fate === "lost") this.delivered.push(sent);
    if (fate === "ok") accept(response, { message_id: this.#nextMessage++ });
    else this.#fail(response, fate);
  }

  #fail(response: ServerResponse, fate: Exclude<Fate, "ok">): void {
    if (fate === "lost" || fate === "dropped") return void response.destroy();
    const [code, description, parameters] = refusals[fate];
    refuse(response, code, description, parameters);
  }
}

/** What Telegram has against a text. */
function faultOf(text: string): string | undefined {
  if (text === "") return "message text is empty";
  if (text.length > longestMessage) return "message is too long";
  const isText = text.isWellFormed() && !text.includes("\ufffd");
  return isText ? undefined : "strings must be encoded in UTF-8";
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(request: IncomingMessage, body: string): Fields {
  const isJson = request.headers["content-type"]?.startsWith("application/json") === true;
  return isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
}

function accept(response: ServerResponse, result: unknown): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ ok: true, result }));
}

function refuse(response: ServerResponse, code: number, description: string, parameters = {}) {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(JSON.stringify({ ok: false, error_code: code, description, parameters }));
}
