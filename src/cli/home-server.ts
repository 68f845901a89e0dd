// The server that has a home, for a command that was refused the home because of it.
import {
  type ErrorCode,
  errorCodes,
  isThroughlineError,
  ThroughlineError,
} from "../core/errors.ts";
import { isJsonObject, parseJson } from "../core/json.ts";
import { type HomeServer, serverOf } from "../core/storage/files/lease-holder.ts";
import { Failed } from "./failure.ts";
import { readOwnFile } from "./own-file.ts";

/** A server that has a home, and what its requests need. */
export interface ServerTarget {
  readonly url: string;
  readonly token?: string | undefined;
}

/** The longest token file that is read, in bytes. */
const maxTokenBytes = 4096;

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
  return { url, token: token_file === undefined ? token : tokenIn(token_file, server) };
}

function tokenIn(path: string, { url }: HomeServer): string | undefined {
  try {
    return readOwnFile(path, maxTokenBytes)?.trim();
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    throw new Failed(
      `the server at ${url} has this home, and its token cannot be read: ${cause.message}`,
      {
        code: cause.code,
        wayOut: "Run this as the user who started the server, or stop the server first.",
        cause,
      },
    );
  }
}

/** How long a server may take until it begins to answer, in milliseconds. */
const answerMs = 10_000;

/**
 * Asks a server for something.
 *
 * @returns its answer, of status 200 to 299.
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: no answer within 10 s. Otherwise the code and the words
 *   with which it refused.
 */
export async function askServer(
  { url, token }: ServerTarget,
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): Promise<Response> {
  const place = new URL(path, url);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) place.searchParams.set(name, String(value));
  }
  const waited = new AbortController();
  const timer = setTimeout(() => waited.abort(), answerMs);
  let response: Response;
  try {
    const headers = new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` });
    response = await fetch(place, { headers, signal: waited.signal, redirect: "error" });
  } catch (cause) {
    throw unavailable(url, cause);
  } finally {
    clearTimeout(timer);
  }
  if (!response.ok) throw await refusalOf(response, url);
  return response;
}

/** The same for JSON. */
export async function jsonFrom<T>(...asked: Parameters<typeof askServer>): Promise<T> {
  const response = await askServer(...asked);
  const [{ url }] = asked;
  try {
    return (await response.json()) as T;
  } catch (cause) {
    throw unavailable(url, cause);
  }
}

/** The same for a text of any length, in pieces. @throws also while it is read, if it breaks off. */
export async function textFrom(
  ...asked: Parameters<typeof askServer>
): Promise<AsyncIterable<string>> {
  const { body } = await askServer(...asked);
  const [{ url }] = asked;
  return piecesOf(body, url);
}

async function* piecesOf(body: Response["body"], url: string): AsyncGenerator<string> {
  try {
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) yield text;
  } catch (cause) {
    throw unavailable(url, cause);
  }
}

const stopIt = "stop the server and run this again";

function unavailable(url: string, cause: unknown): Failed {
  return new Failed(`the server at ${url} has this home, and does not answer`, {
    code: "THROUGHLINE_UNAVAILABLE",
    wayOut: `Try again. If it stays like this, ${stopIt}.`,
    cause,
  });
}

/** A refusal that is about what was asked reads as it does on a home of one's own. */
async function refusalOf(response: Response, url: string): Promise<ThroughlineError> {
  const { code, detail } = problemIn(await response.text().catch(() => ""));
  const refused = `the server at ${url} has this home, and refused this`;
  if (response.status === 401 || response.status === 403) {
    return new Failed(`${refused}: ${detail ?? "no valid token"}`, {
      code: response.status === 401 ? "THROUGHLINE_UNAUTHORIZED" : "THROUGHLINE_FORBIDDEN",
      wayOut: `Set THROUGHLINE_TOKEN to the token of the server, or ${stopIt}.`,
    });
  }
  if (code !== undefined && response.status < 500) {
    return new ThroughlineError(detail ?? errorCodes[code].says, { code });
  }
  return new Failed(`${refused}: ${detail ?? `status ${response.status}`}`, {
    code: code ?? "THROUGHLINE_UNAVAILABLE",
    wayOut: `Its log may say more. Try again, or ${stopIt}.`,
  });
}

function problemIn(text: string): {
  readonly code?: ErrorCode | undefined;
  readonly detail?: string | undefined;
} {
  let problem: unknown;
  try {
    problem = parseJson(text, "the answer");
  } catch {
    // Not from a server of ours: its status has to do.
  }
  if (!isJsonObject(problem)) return {};
  const { code, detail } = problem;
  return {
    code: Object.keys(errorCodes).find((each) => each === code) as ErrorCode | undefined,
    detail: typeof detail === "string" ? detail : undefined,
  };
}
