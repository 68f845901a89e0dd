// A companion in memory whose model plays a script, over HTTP.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { StoredMessage } from "../../src/core/chat/message.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { createServer, type ServerFeature, type ServerOptions } from "../../src/server/server.ts";
import { HeldClock } from "./held-clock.ts";
import { type ScriptedStep, scriptedResponder } from "./scripted-responder.ts";

export const me = "/api/chats/local%3Ame";

export interface FixtureOptions extends Partial<ServerOptions> {
  readonly maxQueued?: number;
  /** @default "You are kind." */
  readonly persona?: string | (() => string);
  /** What another run left behind. */
  readonly throughline?: Throughline;
  /** Starts features once the memories are open. They are served before `features`. */
  readonly addFeatures?: (throughline: Throughline) => Promise<readonly ServerFeature[]>;
}

export async function companion(
  script: readonly (readonly ScriptedStep[])[] = [],
  options: FixtureOptions = {},
) {
  const {
    maxQueued = 32,
    persona = "You are kind.",
    addFeatures,
    features = [],
    ...rest
  } = options;
  const clock = new HeldClock();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const model = scriptedResponder(script);
  const target = { provider: model.provider, model: model.model };
  const throughline =
    options.throughline ?? (await openThroughline({ storage: "memory", clock, newId, ...target }));
  const added = (await addFeatures?.(throughline)) ?? [];
  const turns = await throughline.turns({ model, persona, maxQueued });
  const server = createServer({
    throughline,
    turns,
    clock,
    newId,
    version: "0.0.0",
    ...rest,
    features: [...added, ...features],
  });
  /** Where it listens, or would. */
  let host = "127.0.0.1:7423";
  const listen = async (address: Parameters<typeof server.listen>[0]) => {
    const listening = await server.listen(address);
    host = `127.0.0.1:${listening.port}`;
    return listening;
  };

  /** Asks as a well-behaved client does; what `init` names takes the place of that. */
  const ask = (path: string, init: RequestInit & { body?: string } = {}) => {
    const headers = new Headers({ host, "content-type": "application/json" });
    new Headers(init.headers).forEach((value, name) => {
      headers.set(name, value);
    });
    return server.fetch(new Request(`http://${host}${path}`, { ...init, headers }));
  };
  const get = async (path: string) => jsonOf(await ask(path), 200);
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    ask(path, { method: "POST", body: JSON.stringify(body), headers });
  const say = async (content: string, headers: Record<string, string> = {}) =>
    post(`${me}/messages`, { content }, headers);
  const stream = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    post(path, body, { accept: "text/event-stream", ...headers });
  return { server, listen, turns, throughline, clock, model, ask, get, post, say, stream };
}

export type Companion = Awaited<ReturnType<typeof companion>>;

/** A companion that really listens until its test ends. `send` asks over the network. */
export async function listening(
  t: TestContext,
  script: readonly (readonly ScriptedStep[])[] = [],
  options: FixtureOptions = {},
) {
  const c = await companion(script, options);
  const { port, url } = await c.listen({ port: 0 });
  t.after(async () => {
    await Promise.all([c.turns.close(0), c.server.close()]);
  });
  const send = (path: string, init: RequestInit = {}) => {
    const headers = { "content-type": "application/json", ...init.headers };
    return fetch(`${url}${path}`, { ...init, headers });
  };
  return { ...c, port, url, send };
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of many shapes.
export async function jsonOf(response: Response, status: number): Promise<any> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text);
}

/** The problem of a response, which it must be. */
export async function problemOf(response: Response, status: number, code: string) {
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  const problem = await jsonOf(response, status);
  assert.equal(problem.code, code, JSON.stringify(problem));
  assert.deepEqual([problem.type, problem.status], ["about:blank", status]);
  return problem as { detail: string; code: string; title: string; turn_id?: string };
}

export interface Told {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly data: any;
}

/** The events of a stream, as they come; comments come as `{ name: ":" }`. */
export async function* eventsOf(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Told, void, undefined> {
  assert.ok(body);
  let text = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith(":")) yield { name: ":", data: block.slice(2) };
      const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? [];
      if (name !== undefined) yield { name, data: JSON.parse(data ?? "") };
    }
  }
  assert.equal(text, "", "the stream ends with a whole event");
}

/** Reads until an event of this name; what came before it is passed over. */
export async function until(events: AsyncIterator<Told>, name: string): Promise<Told> {
  for (;;) {
    const next = await events.next();
    assert.equal(next.done ?? false, false, `${name} did not come`);
    if (next.value?.name === name) return next.value;
  }
}

/** Each event is described by its name and holds nothing more than that; these were among them. */
export function assertDescribed(
  events: readonly Told[],
  described: Readonly<Record<string, { parse(data: unknown): unknown }>>,
  names: readonly string[],
): void {
  const told = events.filter(({ name }) => name !== ":");
  for (const { name, data } of told) assert.deepEqual(described[name]?.parse(data), data, name);
  const missing = names.filter((name) => !told.some((each) => each.name === name));
  assert.deepEqual(missing, []);
}

export function words(messages: readonly StoredMessage[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${content}`);
}
