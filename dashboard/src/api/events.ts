// Everything that happens, as it happens: one stream for all windows of a browser, which comes back by itself. A
// browser has six connections to a server. One visible window has the stream and passes on what comes; when it is
// closed or hidden, the next one opens its own.
import { useEffect, useEffectEvent } from "react";
import { queryClient, readAfter, request, signedOut } from "./client.ts";
import type { ServerEvents } from "./openapi-types.ts";
import { Store, useStore } from "./store.ts";

type Connection = "connecting" | "online" | "offline";
type EventName = keyof ServerEvents;
type Handler<Name extends EventName> = (data: ServerEvents[Name]) => void;

const firstWaitMs = 500;
/** Reading waits for the stream no longer than this. What was read before that opens is read again then. */
const maxReadWaitMs = 2_000;
/** The page is of one companion, most often on this machine: it should be back at once. */
const maxWaitMs = 4_000;
/** A window that is hidden for longer takes no part. */
const hiddenMs = 60_000;

const known: Record<EventName, true> & Record<string, true> = {
  message: true,
  turn: true,
  retrying: true,
  session: true,
  repair: true,
  emotions: true,
  person: true,
  sleep: true,
  restart: true,
  inject: true,
  feedback: true,
  buffers: true,
};
const names = Object.keys(known) as EventName[];

/** What windows say to each other. */
type Passed =
  | { readonly event: EventName; readonly data: unknown }
  | { readonly connection: Connection; readonly isOpened: boolean }
  | { readonly ask: "state" | "retry" };

const handlers = new Map<EventName, Set<Handler<never>>>();
const openListeners = new Set<() => void>();
let source: EventSource | undefined;
const connection = new Store<Connection>("connecting");
/** Whether this window is not hidden. */
export const inSight = new Store(true);
let waitMs = firstWaitMs;
let retry: ReturnType<typeof setTimeout> | undefined;
let hiding: ReturnType<typeof setTimeout> | undefined;
/** Where the windows of a browser hear each other. */
let windows: BroadcastChannel | undefined;
/** Ends the part in the stream: the wait for it, or the stream. */
let part: AbortController | undefined;
let isFollower = false;

/** Calls the handler with the data of every event of this name, while the component is there. */
export function useServerEvent<Name extends EventName>(name: Name, handler: Handler<Name>): void {
  const latest = useEffectEvent(handler);
  useEffect(() => onServerEvent(name, (data) => latest(data)), [name]);
}

/** How the stream of events stands: `offline` until the server answers again. */
export function useConnection(): Connection {
  return useStore(connection);
}

/** The same outside of components. @returns what ends it. */
export function onServerEvent<Name extends EventName>(
  name: Name,
  handler: Handler<Name>,
): () => void {
  const all = handlers.get(name) ?? new Set();
  handlers.set(name, all.add(handler));
  return () => all.delete(handler);
}

/** Calls back whenever the stream opens: events before were missed. */
export function onOpen(listener: () => void): () => void {
  openListeners.add(listener);
  return () => openListeners.delete(listener);
}

/** Takes part in the stream, once and for good. */
export function startEvents(): void {
  const opened = new Promise<void>((resolve) => {
    connection.subscribe(resolve);
    setTimeout(resolve, maxReadWaitMs);
  });
  readAfter(opened);
  windows = new BroadcastChannel("throughline-events");
  windows.addEventListener("message", ({ data }: MessageEvent<Passed>) => hear(data));
  signedOut.subscribe(() => (signedOut.get() ? leave() : join()));
  window.addEventListener("online", connectNow);
  inSight.set(!document.hidden);
  document.addEventListener("visibilitychange", () => {
    inSight.set(!document.hidden);
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(leave, hiddenMs);
    else if (part === undefined) join();
  });
  join();
}

/** Tries now, without waiting for the next attempt. */
export function connectNow(): void {
  waitMs = firstWaitMs;
  if (isFollower) windows?.postMessage({ ask: "retry" } satisfies Passed);
  else if (source?.readyState !== EventSource.OPEN) connect();
}

/** Waits until no other window has the stream, then opens it. Over plain http each window has one of its own. */
function join(): void {
  part?.abort();
  const mine = new AbortController();
  part = mine;
  const { locks } = navigator;
  if (locks === undefined) {
    connect();
    return;
  }
  isFollower = true;
  const lead = () => {
    isFollower = false;
    connect();
    return new Promise<void>((release) => mine.signal.addEventListener("abort", () => release()));
  };
  locks.request("throughline-events", { signal: mine.signal }, lead).catch(() => undefined);
  windows?.postMessage({ ask: "state" } satisfies Passed);
}

function leave(): void {
  part?.abort();
  part = undefined;
  isFollower = navigator.locks !== undefined; // it still hears what comes to the window that leads now
  close();
}

function hear(passed: Passed): void {
  if ("ask" in passed) {
    if (isFollower || part === undefined) return;
    if (passed.ask === "retry") connectNow();
    else passOn({ connection: connection.get(), isOpened: false });
  } else if (!isFollower) return;
  else if ("event" in passed) handle(passed.event, passed.data);
  else show(passed.connection, passed.isOpened);
}

function passOn(passed: Passed): void {
  if (navigator.locks !== undefined) windows?.postMessage(passed);
}

function connect(): void {
  close();
  const opened = new EventSource("/api/events");
  source = opened;
  for (const name of names) listen(opened, name);
  opened.addEventListener("open", () => {
    waitMs = firstWaitMs;
    tell("online", true);
  });
  // Named `error` too: a browser's own event, without data.
  opened.addEventListener("error", () => {
    if (source !== opened) return;
    const isRefused = opened.readyState === EventSource.CLOSED;
    close();
    tell("offline", false);
    // It does not say why; asking does, and a 401 shows the sign-in.
    if (isRefused) void request("/api/chats?limit=1").catch(() => undefined);
    if (document.hidden) leave(); // a window that is seen opens it
    if (signedOut.get() || part === undefined) return;
    retry = setTimeout(connect, waitMs * (0.75 + Math.random() / 2));
    waitMs = Math.min(waitMs * 2, maxWaitMs);
  });
}

function tell(now: Connection, isOpened: boolean): void {
  passOn({ connection: now, isOpened });
  show(now, isOpened);
}

function show(now: Connection, isOpened: boolean): void {
  connection.set(now);
  if (!isOpened) return;
  // What was read before this may have changed since: its events were missed.
  void queryClient.invalidateQueries({ predicate: ({ state }) => state.status !== "pending" });
  for (const listener of openListeners) listener();
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
}

function listen(to: EventSource, name: EventName): void {
  to.addEventListener(name, (event) => {
    const data: unknown = JSON.parse((event as MessageEvent<string>).data);
    passOn({ event: name, data });
    handle(name, data);
  });
}

function handle(name: EventName, data: unknown): void {
  for (const handler of handlers.get(name) ?? []) handler(data as never);
}
