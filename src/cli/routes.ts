// The routes of a home, for a command: those of the server that has it, or of this process where none has.
import { type ErrorCode, errorCodes, invalid, ThroughlineError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import { serverOf } from "../core/storage/files/lease-holder.ts";
import { Failed, isErrno } from "./failure.ts";
import { readOwnFile } from "./own-file.ts";
import { maxTokenBytes } from "./token.ts";

/** A server that has a home, and what its requests need. */
interface ServerTarget {
  readonly url: string;
  readonly token?: string | undefined;
}

/**
 * The server that has a home which was just refused; `undefined`: no server has it.
 *
 * @param token that of the environment, for a server that has no file with one.
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: its token file cannot be read.
 */
export function serverTarget(home: string, token: string | undefined): ServerTarget | undefined {
  const server = serverOf(home);
  if (server === undefined) return undefined;
  const { url, token_file } = server;
  return { url, token: token_file ? readOwnFile(token_file, maxTokenBytes)?.trim() : token };
}

/** Who answers requests. */
interface Answering {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Makes an error of a response that is no success, or of a stream that broke off or sent `problem`. */
  readonly errorOf: (request: Request, problem: Refused) => unknown;
}

interface Refused {
  readonly status?: number | undefined;
  readonly text?: string | undefined;
  readonly cause?: unknown;
}

interface Asked {
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly body?: object | undefined;
  readonly accept?: string | undefined;
}

/** One event of a stream. */
export interface RouteEvent {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a command asks. Each call throws what it is refused with. */
export class Routes {
  readonly #at: Answering;

  constructor(at: Answering) {
    this.#at = at;
  }

  /** @returns the JSON of the answer; `undefined`: it has none (204). */
  async json<T>(path: string, asked: Asked = {}): Promise<T> {
    const { request, response } = await this.#ask(path, asked);
    try {
      return (response.status === 204 ? undefined : await response.json()) as T;
    } catch (cause) {
      throw this.#at.errorOf(request, { cause });
    }
  }

  async post<T>(path: string, body: object = {}): Promise<T> {
    return this.json<T>(path, { method: "POST", body });
  }

  /** A text of any length, in pieces. @throws also while it is read, if it breaks off. */
  async text(path: string, asked: Asked = {}): Promise<AsyncIterable<string>> {
    const { request, response } = await this.#ask(path, asked);
    return this.#pieces(request, response);
  }

  /** Posts, and reads the answer as events, to its end. */
  async *events(path: string, body: object): AsyncGenerator<RouteEvent, void, undefined> {
    const asked = { method: "POST", body, accept: "text/event-stream" } as const;
    const { request, response } = await this.#ask(path, asked);
    let rest = "";
    for await (const piece of this.#pieces(request, response)) {
      const [last = "", ...whole] = `${rest}${piece}`.split("\n\n").reverse();
      rest = last;
      for (const text of whole.reverse()) {
        const [, name, data] = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(text) ?? [];
        if (name === undefined || data === undefined) continue; // it says that it is there
        if (name === "error") throw this.#at.errorOf(request, { status: 500, text: data });
        yield { name, data: JSON.parse(data) };
        if (name === "result") return;
      }
    }
    throw this.#at.errorOf(request, { cause: new Error("the events broke off") });
  }

  async #ask(path: string, { method, query = {}, body, accept }: Asked) {
    const { url, headers: own, fetch, errorOf } = this.#at;
    const place = new URL(path, url);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) place.searchParams.set(name, String(value));
    }
    const headers = new Headers(own);
    if (accept !== undefined) headers.set("accept", accept);
    const isForm = body instanceof FormData;
    if (body !== undefined && !isForm) headers.set("content-type", "application/json");
    const request = new Request(place, {
      method: method ?? "GET",
      headers,
      body: body === undefined || isForm ? (body ?? null) : JSON.stringify(body),
      redirect: "error",
    });
    let response: Response;
    try {
      response = await fetch(request);
    } catch (cause) {
      throw errorOf(request, { cause });
    }
    const { status, ok } = response;
    if (!ok) throw errorOf(request, { status, text: await response.text().catch(() => "") });
    return { request, response };
  }

  async *#pieces(request: Request, { body }: Response): AsyncGenerator<string> {
    try {
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) yield text;
    } catch (cause) {
      throw this.#at.errorOf(request, { cause });
    }
  }
}

/** Encodes an id as one part of a path. @throws ThroughlineError `THROUGHLINE_INVALID`: no path has it. */
export function pathPart(id: string): string {
  // An address has no part of this name: it would mean the folder before it.
  if (/^\.{1,2}$/.test(id)) throw invalid(`no path leads to the id "${id}"`);
  return encodeURIComponent(id);
}

export const chatPath = (chatId: string) => `/api/chats/${pathPart(chatId)}`;

/** How long a server may take until it begins to answer what only reads, in milliseconds. */
const answerMs = 10_000;

/**
 * The routes of the server that has a home.
 *
 * @returns also the version that it says it has.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: nothing of ours answers there.
 */
export async function routesOfServer({ url, token }: ServerTarget) {
  const routes = new Routes({
    url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    fetch: fetchSoon,
    errorOf: ({ method }, { status, text = "", cause }) =>
      status === undefined ? unanswered(url, method, cause) : refusalOf(status, text, url),
  });
  const { version } = await routes.json<{ readonly version?: unknown }>("/healthz");
  return { routes, version: String(version) };
}

/** What changes something may take longer than what reads. */
async function fetchSoon(request: Request): Promise<Response> {
  const waited = new AbortController();
  const timer = request.method === "GET" ? setTimeout(() => waited.abort(), answerMs) : undefined;
  try {
    return await fetch(request, { signal: waited.signal });
  } finally {
    clearTimeout(timer);
  }
}

const stopIt = "stop the server and run this again";

function unanswered(url: string, method: string, cause: unknown): Failed {
  const isRefused = cause instanceof Error && isErrno(cause.cause, "ECONNREFUSED");
  if (method === "GET" || isRefused) {
    return new Failed(`the server at ${url} has this home, and does not answer`, {
      code: "THROUGHLINE_UNAVAILABLE",
      wayOut: `Try again. If it stays like this, ${stopIt}.`,
      cause,
    });
  }
  return new Failed(`the server at ${url} ended before it had answered: it may have done this`, {
    code: "THROUGHLINE_OUTCOME_UNKNOWN",
    wayOut: "See what is there once it runs again, or without it, before you run this again.",
    cause,
  });
}

/** A refusal that is about what was asked reads as it does on a home of one's own. */
function refusalOf(status: number, text: string, url: string): ThroughlineError {
  const { code, detail } = problemIn(text);
  const refused = `the server at ${url} has this home, and refused this`;
  if (status === 401 || status === 403) {
    return new Failed(`${refused}: ${detail ?? "no valid token"}`, {
      code: status === 401 ? "THROUGHLINE_UNAUTHORIZED" : "THROUGHLINE_FORBIDDEN",
      wayOut: `Set THROUGHLINE_TOKEN to the token of the server, or ${stopIt}.`,
    });
  }
  if (code !== undefined && errorCodes[code].status !== 503 && errorCodes[code].status !== 500) {
    return new ThroughlineError(detail ?? errorCodes[code].says, { code });
  }
  return new Failed(`${refused}: ${detail ?? `status ${status}`}`, {
    code: code ?? "THROUGHLINE_UNAVAILABLE",
    wayOut: `Its log may say more. Try again, or ${stopIt}.`,
  });
}

/** Reads a problem; of what is none, not from a server of ours, the status has to do. */
function problemIn(text: string): { readonly code?: ErrorCode; readonly detail?: string } {
  try {
    const problem = parseJson(text, "the answer") as { code: ErrorCode; detail: string };
    return Object.hasOwn(errorCodes, problem.code) ? problem : { detail: problem.detail };
  } catch {
    return {};
  }
}
