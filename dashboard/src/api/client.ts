// The one way to the server: JSON there and back, and every failure as one kind of error.
import { sha256 } from "@noble/hashes/sha2.js";
import { keepPreviousData, QueryClient, useInfiniteQuery } from "@tanstack/react-query";
import { learnTime } from "./server-clock.ts";
import { Store } from "./store.ts";

/** Whether the server asked for a sign-in, and no code was taken since. */
export const signedOut = new Store(false);

/** The answers so far. Events say when one is old, so nothing is asked for at intervals. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The server is often on this machine, which a browser that is offline reaches.
      networkMode: "always",
      staleTime: 15_000,
      retry: (count, error) => count < 2 && isPassing(error),
      refetchOnWindowFocus: false,
    },
    mutations: { networkMode: "always" },
  },
});

/** What is read and not answered for so long counts as not reached: others wait for it. */
const answerMs = 15_000;

let hearing: Promise<unknown> = Promise.resolve();

/** What is read from now on waits for this: a page that hears no events yet would miss changes to it. */
export function readAfter(heard: Promise<unknown>): void {
  hearing = heard;
}

export interface RequestInit {
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  /** Sent as JSON, or as a form if it is one; a POST without one sends `{}`. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

interface ProblemInit {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly provider_detail?: string | undefined;
}

/** A problem of the server (RFC 9457), or that it could not be reached: status 0. */
export class ProblemError extends Error {
  readonly status: number;
  /** What to branch on. */
  readonly code: string;
  /** For people. */
  readonly detail: string;
  /** What the model's provider said, in its own words. */
  readonly providerDetail: string | undefined;

  constructor(problem: ProblemInit, options?: ErrorOptions) {
    super(problem.detail, options);
    this.name = "ProblemError";
    this.status = problem.status;
    this.code = problem.code;
    this.detail = problem.detail;
    this.providerDetail = problem.provider_detail;
  }
}

/**
 * Asks the server. An empty answer (204) is `undefined`.
 *
 * @throws ProblemError after a refusal, or without an answer; a 401 shows the sign-in view too.
 */
export async function request<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await open(path, init);
  if (response.status === 204) return undefined as T;
  return (await response.json().catch(failed)) as T;
}

/** The same, for callers that read the body themselves. @throws ProblemError as `request`. */
export async function open(path: string, init: RequestInit = {}): Promise<Response> {
  const { method = "GET", body, signal, headers = {} } = init;
  const isPost = method === "POST";
  const isForm = body instanceof FormData;
  if (method === "GET") await hearing;
  const late = new AbortController();
  const timer = method === "GET" ? setTimeout(() => late.abort(unreached()), answerMs) : undefined;
  const response = await reach(path, {
    method,
    headers: isPost && !isForm ? { ...headers, "content-type": "application/json" } : headers,
    body: isForm ? body : isPost ? JSON.stringify(body ?? {}) : null,
    signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
  }).finally(() => clearTimeout(timer));
  if (response.ok) return response;
  if (response.status === 401) signedOut.set(true);
  throw await problemOf(response);
}

/** The error for a server that could not be reached. */
export function unreached(options?: ErrorOptions): ProblemError {
  const detail = "Can't reach Throughline.";
  return new ProblemError({ status: 0, code: "UNREACHABLE", detail }, options);
}

/** A list that the server gives page by page. While another query is on its way, the pages stay. */
export function usePages<Page extends { readonly cursor?: string | null | undefined }>(
  queryKey: readonly unknown[],
  path: string,
  query: Readonly<Record<string, string>>,
) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      const search = new URLSearchParams(
        pageParam === "" ? query : { ...query, cursor: pageParam },
      );
      return request<Page>(`${path}?${search}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.cursor,
    placeholderData: keepPreviousData,
  });
}

/** A new idempotency key: a request that is sent again with it is stored once. */
export function newKey(): string {
  // `randomUUID` is there on secure origins only.
  return hex(crypto.getRandomValues(new Uint8Array(12)));
}

/** The id of a message that was sent with this key. A browser's own digest is there on secure origins only. */
export function messageIdFor(key: string): string {
  return `i_${hex(sha256(new TextEncoder().encode(key))).slice(0, 32)}`;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The path of a chat; its id may hold anything, a `/` too. */
export function chatPath(chatId: string): string {
  return `/api/chats/${encodeURIComponent(chatId)}`;
}

/** Whether there is no such thing, or this server does not have it. */
export function isMissing(error: unknown): boolean {
  return error instanceof ProblemError && error.status === 404;
}

/** Whether the same request may succeed a moment later. */
function isPassing(error: unknown): boolean {
  return error instanceof ProblemError && (error.status === 0 || error.status === 503);
}

/** What went wrong, in words for a person. */
export function detailOf(error: unknown): string {
  if (error instanceof ProblemError) return error.detail;
  return "Something went wrong on this page.";
}

/** What the model's provider said about it, if anything. */
export function providerWordsOf(error: unknown): string | undefined {
  return error instanceof ProblemError ? error.providerDetail : undefined;
}

async function reach(path: string, init: Parameters<typeof fetch>[1]): Promise<Response> {
  try {
    const sentAt = Date.now();
    const response = await fetch(path, init);
    learnTime(response, sentAt);
    return response;
  } catch (cause) {
    return failed(cause);
  }
}

/** Throws what a request, or the body of its answer, breaks off with. */
function failed(cause: unknown): never {
  if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
  throw unreached({ cause });
}

async function problemOf(response: Response): Promise<ProblemError> {
  const { status } = response;
  const fallback = {
    status,
    code: `HTTP_${status}`,
    detail: `The server responded with ${status}.`,
  };
  const problem: unknown = await response.json().catch(() => undefined); // not JSON: the fallback
  if (typeof problem !== "object" || problem === null) return new ProblemError(fallback);
  const { code, detail, provider_detail: words } = problem as Record<string, unknown>;
  return new ProblemError({
    status,
    code: typeof code === "string" ? code : fallback.code,
    detail: typeof detail === "string" ? detail : fallback.detail,
    provider_detail: typeof words === "string" ? words : undefined,
  });
}
