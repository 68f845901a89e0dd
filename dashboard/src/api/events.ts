// Everything that happens, as it happens: one stream for the whole page, which comes back by itself.
import { useEffect, useEffectEvent } from "react";
import { queryClient, request, signedOut } from "./client.ts";
import type { ServerEvents } from "./openapi-types.ts";
import { Store, useStore } from "./store.ts";

export type Connection = "connecting" | "online" | "offline";
type EventName = keyof ServerEvents;
type Handler<Name extends EventName> = (data: ServerEvents[Name]) => void;

const firstWaitMs = 500;
/** The page is of one companion, most often on this machine: it should be back at once. */
const maxWaitMs = 4_000;
/** A browser has six connections to a server for all its tabs: a hidden tab gives up its own. */
const hiddenMs = 60_000;

const handlers = new Map<EventName, Set<Handler<never>>>();
const reconnectListeners = new Set<() => void>();
let source: EventSource | undefined;
const connection = new Store<Connection>("connecting");
let waitMs = firstWaitMs;
let retry: ReturnType<typeof setTimeout> | undefined;
let hiding: ReturnType<typeof setTimeout> | undefined;
let wasOnline = false;

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
  const known = handlers.get(name);
  const all = known ?? new Set();
  handlers.set(name, all.add(handler));
  if (known === undefined && source !== undefined) listen(source, name);
  return () => all.delete(handler);
}

/** Calls back when the stream is open again after a break: events in between were missed. */
export function onReconnect(listener: () => void): () => void {
  reconnectListeners.add(listener);
  return () => reconnectListeners.delete(listener);
}

/** Opens the stream, once, and keeps it open. */
export function startEvents(): void {
  signedOut.subscribe(() => (signedOut.get() ? close() : connectNow()));
  window.addEventListener("online", connectNow);
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(close, hiddenMs);
    else if (source === undefined) connectNow();
  });
  connect();
}

/** Tries now, without waiting for the next attempt. */
export function connectNow(): void {
  waitMs = firstWaitMs;
  if (source?.readyState !== EventSource.OPEN) connect();
}

function connect(): void {
  close();
  const opened = new EventSource("/api/events");
  source = opened;
  for (const name of handlers.keys()) listen(opened, name);
  opened.addEventListener("open", () => {
    waitMs = firstWaitMs;
    connection.set("online");
    // Events in between were missed.
    if (wasOnline) {
      void queryClient.invalidateQueries();
      for (const listener of reconnectListeners) listener();
    }
    wasOnline = true;
  });
  // Named `error` too: a browser's own event, without data.
  opened.addEventListener("error", () => {
    if (source !== opened) return;
    const isRefused = opened.readyState === EventSource.CLOSED;
    close();
    connection.set("offline");
    // It does not say why; asking does, and a 401 shows the sign-in.
    if (isRefused) void request("/api/chats?limit=1").catch(() => undefined);
    if (signedOut.get() || document.hidden) return;
    retry = setTimeout(connect, waitMs * (0.75 + Math.random() / 2));
    waitMs = Math.min(waitMs * 2, maxWaitMs);
  });
}

function close(): void {
  clearTimeout(retry);
  source?.close();
  source = undefined;
}

function listen(to: EventSource, name: EventName): void {
  to.addEventListener(name, (event) => {
    const data = JSON.parse((event as MessageEvent<string>).data) as never;
    for (const handler of handlers.get(name) ?? []) handler(data);
  });
}
