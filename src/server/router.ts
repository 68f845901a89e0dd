import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { z } from "zod";
import type { GivenFile } from "../core/chat/attachments.ts";
import { invalid } from "../core/errors.ts";
import { type Json, wellFormedJson } from "../core/json.ts";
import type { Watchers } from "./events.ts";
import { isForm, parseInput, queryOf, readForm, readJson } from "./input.ts";
import {
  type Nothing,
  nothing,
  type Operation,
  type ParamsOf,
  paramsOf,
  type Schemas,
} from "./operation.ts";
import type { Settings } from "./options.ts";
import { type Problem, problem, problemResponse } from "./problem.ts";
import { type AcceptedSocket, isUpgrade, upgrade } from "./upgrade.ts";

/** What the routes share. */
export interface Ports extends Settings {
  readonly watchers: Watchers;
  /**
   * Runs what a request asks for; closing waits for it.
   *
   * @throws ThroughlineError `THROUGHLINE_CLOSED`: closing began while the request was arriving.
   */
  readonly begin: <T>(work: () => T | Promise<T>) => Promise<T>;
  /** Closing waits until this has settled. */
  readonly track: (work: Promise<unknown>) => void;
}

/** What the Node server hands on; nothing of it is there in a test without a port. */
export interface Env {
  Bindings: Partial<HttpBindings>;
  Variables: { route: string; turn: string | undefined };
}

/** What does an operation. */
type Work<Path extends string, Query extends z.ZodObject, Body extends z.ZodType> = (
  input: {
    readonly params: ParamsOf<Path>;
    readonly query: z.output<Query>;
    readonly body: z.output<Body>;
    /** Of a form; none of JSON. */
    readonly files: readonly GivenFile[];
  },
  context: Context<Env>,
) => Response | Promise<Response>;

/** An operation with what does it, beside its method and path. */
type Route<Path extends string, Query extends z.ZodObject, Body extends z.ZodType> = Omit<
  Operation<Path, Query, Body>,
  "method" | "path"
> & { readonly answer: Work<Path, Query, Body> };

interface ReadBody {
  /** `undefined`: the work reads the body. */
  readonly fields: Json | undefined;
  readonly files: readonly GivenFile[];
}

const nothingRead: ReadBody = { fields: undefined, files: [] };

/** The routes, and their description: neither has an operation that the other lacks. */
export class Router {
  readonly app: Hono<Env>;
  readonly ports: Ports;
  readonly get = this.#adding("get");
  readonly post = this.#adding("post");
  readonly put = this.#adding("put");
  readonly delete = this.#adding("delete");
  readonly #methods = new Map<string, string[]>();
  readonly #operations: Operation[] = [];
  readonly #events: (() => Promise<Schemas>)[] = [];
  readonly #sockets = new Set<string>();
  readonly #forms = new Map<string, (shown: Problem) => object>();

  constructor(ports: Ports) {
    this.ports = ports;
    // Matched as it came, and decoded once, by `param`: an encoded slash is part of an id.
    const getPath = (request: Request) => new URL(request.url).pathname;
    // The usual one makes a pattern of all routes first, which is most of what the first request waits for.
    this.app = new Hono<Env>({ getPath, router: new TrieRouter() });
  }

  /** Makes what adds the operations of one method. */
  #adding(method: Operation["method"]) {
    return <
      Path extends string,
      Query extends z.ZodObject = Nothing,
      Body extends z.ZodType = Nothing,
    >(
      path: Path,
      { answer, ...operation }: Route<Path, Query, Body>,
    ): void => this.add({ ...operation, method, path }, answer);
  }

  /** Adds an operation. What a client sends is checked before `work` sees it. */
  add<Path extends string, Query extends z.ZodObject = Nothing, Body extends z.ZodType = Nothing>(
    operation: Operation<Path, Query, Body>,
    work: Work<Path, Query, Body>,
  ): void {
    const { method, path, bytes } = operation;
    this.#operations.push(operation);
    let schemas: readonly [params: z.ZodObject, query: z.ZodObject, body: z.ZodType] | undefined;
    this.serve(method, path, async (context) => {
      const { req } = context;
      const { query = nothing, body = nothing } = operation;
      schemas ??= [paramsOf(operation), query(), body()];
      const known = {
        params: parseInput(schemas[0], req.param(), "the path"),
        query: parseInput(schemas[1], queryOf(new URL(req.url)), "the query"),
      };
      const { fields, files } =
        (method === "post" || method === "put") && bytes === undefined
          ? await this.#readBody(context, operation.form)
          : nothingRead;
      const isRead = fields !== undefined;
      const sent = isRead ? parseInput(schemas[2], fields, "the body") : {};
      const input = { ...known, files, body: sent } as Parameters<typeof work>[0];
      return this.ports.begin(() => work(input, context));
    });
  }

  async #readBody(context: Context<Env>, form: Operation["form"]): Promise<ReadBody> {
    const { raw } = context.req;
    const { bodyBytes } = this.ports.limits;
    const incoming = incomingOf(context);
    if (form !== undefined && isForm(raw)) {
      const { fields, files } = await readForm(raw, bodyBytes, incoming);
      return { fields: { ...form, ...fields }, files };
    }
    return { fields: await readJson(raw, bodyBytes, incoming), files: [] };
  }

  /** Adds an operation whose requests become WebSockets: `accept` decides, and gets each. */
  addSocket(operation: Omit<Operation, "method">, accept: () => AcceptedSocket): void {
    this.#sockets.add(operation.path);
    this.add({ ...operation, method: "get" }, (_, { env }) => {
      const accepted = accept();
      if (isUpgrade(env)) return upgrade(env as HttpBindings, accepted);
      throw invalid("this is a WebSocket: ask for an upgrade");
    });
  }

  /** Whether a request to this path may become a WebSocket. */
  takesSocket(path: string): boolean {
    return this.#sockets.has(path);
  }

  /** Shows errors in another form under this path, such as `/v1/`: that which the clients there expect. */
  showProblemsAs(under: string, form: (shown: Problem) => object): void {
    this.#forms.set(under, form);
  }

  /** The response in the form of its path. */
  async inForm(path: string, response: Response): Promise<Response> {
    const [, form] = [...this.#forms].find(([under]) => path.startsWith(under)) ?? [];
    const isProblem = response.headers.get("content-type") === "application/problem+json";
    if (form === undefined || !isProblem) return response;
    const headers = new Headers(response.headers);
    headers.set("content-type", "application/json");
    const body = JSON.stringify(form((await response.json()) as Problem));
    return new Response(body, { status: response.status, headers });
  }

  /** Adds events to the description, with the schemas of their data. */
  describeEvents(load: () => Promise<Schemas>): void {
    this.#events.push(load);
  }

  /** The description of all that was added, in OpenAPI. */
  async describe(): Promise<object> {
    // What it is made with takes longer to load than all that answers requests.
    const { describe } = await import("./description.ts");
    const loaded = await Promise.all(this.#events.map((load) => load()));
    const events = Object.fromEntries(loaded.flatMap((schemas) => Object.entries(schemas)));
    return describe(this.#operations, events, this.ports.version);
  }

  /** Adds a route that is no part of the API, such as the page. */
  serve(
    method: Operation["method"],
    path: string,
    work: (context: Context<Env>) => Response | Promise<Response>,
  ): void {
    this.#methods.set(path, [...(this.#methods.get(path) ?? []), method]);
    this.app.on(method.toUpperCase(), pattern(path), (context) => {
      context.set("route", path);
      if (isUpgrade(context.env) && !this.#sockets.has(path)) {
        throw invalid("there is no WebSocket at this path");
      }
      return work(context);
    });
  }

  /**
   * After the last route: what has the path and not the method is 405, everything else 404.
   *
   * @param elsewhere what it is answered with, where that is no error of the API.
   */
  finish(elsewhere: (request: Request) => Response | undefined): void {
    for (const [path, methods] of this.#methods) {
      const names = methods.map((method) =>
        method === "get" ? "GET, HEAD" : method.toUpperCase(),
      );
      const allow = names.join(", ");
      this.app.all(pattern(path), (context) => {
        context.set("route", path);
        return problemResponse(problem("THROUGHLINE_METHOD_NOT_ALLOWED"), { allow });
      });
    }
    this.app.notFound(({ req }) => {
      return elsewhere(req.raw) ?? problemResponse(problem("THROUGHLINE_NOT_FOUND"));
    });
  }
}

export function json(value: object, status = 200): Response {
  const body = wellFormedJson(value);
  const headers = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  return new Response(body, { status, headers });
}

/** For readers that are too slow: closes the connection, if there is one. */
export function disconnect(context: Context<Env>): () => void {
  return () => context.env.outgoing?.destroy();
}

/** A HEAD asks what a GET would say, without its work: a stream without a reader would stay open. */
export function isHead(context: Context<Env>): boolean {
  return context.req.raw.method === "HEAD";
}

/**
 * The body as Node reads it, where there is a connection: the request would make a stream of the web's
 * of it, which is most of what the first one costs. What is left of it is the server's.
 */
function incomingOf({ env }: Context<Env>): AsyncIterable<Uint8Array> | undefined {
  return env.incoming?.iterator({ destroyOnReturn: false });
}

function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
