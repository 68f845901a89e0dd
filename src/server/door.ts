import type { HttpBindings } from "@hono/node-server";
import { createRoute, OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Access } from "./access.ts";
import { readJson } from "./body.ts";
import type { Watchers } from "./events.ts";
import type { AllowedHosts } from "./guard.ts";
import { parseInput, queryOf } from "./input.ts";
import type { MediaSockets } from "./media-sockets.ts";
import type { Upgrade } from "./media-upgrade.ts";
import type { Metrics } from "./metrics.ts";
import type { Settings } from "./options.ts";
import { problem, problemResponse } from "./problem.ts";
import { problem as problemSchema } from "./schemas.ts";

/** What the Node server hands on; nothing of it is there in a test without a port. */
export interface Env {
  Bindings: Partial<HttpBindings> & { readonly upgrade?: Upgrade };
  Variables: { route: string; turn: string | undefined };
}

/** What the routes share. */
export interface Ports extends Settings {
  readonly watchers: Watchers;
  readonly media: MediaSockets;
  readonly metrics: Metrics;
  /**
   * Runs what a request asks for; closing waits for it.
   *
   * @throws ThroughlineError `THROUGHLINE_CLOSED`: closing began while the request was arriving.
   */
  readonly begin: <T>(work: () => T | Promise<T>) => Promise<T>;
  /** Closing waits until this has settled. */
  readonly track: (work: Promise<unknown>) => void;
}

/** What changes while the server lives. */
export interface State {
  readonly access: Access;
  readonly hosts: () => AllowedHosts;
  readonly port: () => number;
}

/** One operation of the API: what it takes, what it answers, and its place in the description. */
export interface Operation<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
> {
  readonly method: "get" | "post" | "delete";
  /** With parameters as `{id}`. */
  readonly path: string;
  /** Never changed: clients are generated from it. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: Params;
  readonly query?: Query;
  /** JSON. What sends none sends `{}`. */
  readonly body?: Body;
  /** Takes bytes of this type instead: the work reads them from the request. */
  readonly bytes?: string;
  readonly headers?: z.ZodObject;
  /** By status; every other answer is a problem. */
  readonly answers: Readonly<Record<number, Answer>>;
}

/** Neither `schema` nor `types`: no body. */
export interface Answer {
  readonly says: string;
  /** Of the JSON. */
  readonly schema?: z.ZodType;
  /** What it may come as instead. */
  readonly types?: readonly string[];
}

export interface Input<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

const nothing = z.strictObject({});

/** The routes, and their description: neither has an operation that the other lacks. */
export class Door {
  readonly app: OpenAPIHono<Env>;
  readonly ports: Ports;
  readonly #methods = new Map<string, string[]>();
  /** What the description does not hold yet: most runs are never asked for it. */
  readonly #undescribed: Parameters<typeof described>[0][] = [];

  constructor(ports: Ports) {
    this.ports = ports;
    // Matched as it came, and decoded once, by `param`: an encoded slash is part of an id.
    const getPath = (request: Request) => new URL(request.url).pathname;
    this.app = new OpenAPIHono<Env>({ getPath });
  }

  /** Adds an operation. What a client sends is checked before `work` sees it. */
  add<
    Params extends z.ZodObject = typeof nothing,
    Query extends z.ZodObject = typeof nothing,
    Body extends z.ZodType = typeof nothing,
  >(
    operation: Operation<Params, Query, Body>,
    work: (
      input: Input<z.output<Params>, z.output<Query>, z.output<Body>>,
      context: Context<Env>,
    ) => Response | Promise<Response>,
  ): void {
    const { method, params, query, body } = operation;
    this.#undescribed.push(operation);
    this.serve(method, operation.path, async (context) => {
      const { req } = context;
      const input = {
        params: parseInput(params ?? nothing, params ? req.param() : {}, "the path"),
        query: parseInput(query ?? nothing, queryOf(new URL(req.url)), "the query"),
        body:
          method === "post" && operation.bytes === undefined
            ? parseInput(
                body ?? nothing,
                await readJson(req.raw, this.ports.limits.bodyBytes),
                "the body",
              )
            : {},
      };
      return this.ports.begin(() => work(input as Parameters<typeof work>[0], context));
    });
  }

  /** Has every operation in the description of `app`. */
  describe(): void {
    for (const operation of this.#undescribed.splice(0)) {
      this.app.openAPIRegistry.registerPath(described(operation));
    }
  }

  /** Adds a route that is no part of the API, such as the page. */
  serve(
    method: "get" | "post" | "delete",
    path: string,
    work: (context: Context<Env>) => Response | Promise<Response>,
  ): void {
    this.#methods.set(path, [...(this.#methods.get(path) ?? []), method]);
    this.app.on(method.toUpperCase(), pattern(path), (context) => {
      context.set("route", path);
      return work(context);
    });
  }

  /** After the last route: what has the path and not the method is 405, everything else 404. */
  finish(): void {
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
    this.app.notFound(() => problemResponse(problem("THROUGHLINE_NOT_FOUND")));
  }
}

export function json(value: object, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** For readers that are too slow: lets go of the connection, if there is one. */
export function letGo(context: Context<Env>): () => void {
  return () => context.env.outgoing?.destroy();
}

/** A HEAD asks what a GET would say, without its work: a stream that nobody reads would stay open. */
export function isHead(context: Context<Env>): boolean {
  return context.req.raw.method === "HEAD";
}

function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function described(
  operation: Operation<z.ZodObject, z.ZodObject, z.ZodType>,
): Omit<RouteConfig, "middleware" | "hide"> {
  const { method, path, id, summary, description, params, query, headers, body, bytes } = operation;
  const responses: RouteConfig["responses"] = {};
  for (const [status, { says, schema, types = [] }] of Object.entries(operation.answers)) {
    const json = schema === undefined ? [] : [["application/json", { schema }] as const];
    const content = [...json, ...types.map((type) => [type, { schema: z.string() }] as const)];
    responses[status] = {
      description: says,
      ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
    };
  }
  responses["default"] = {
    description: "What went wrong.",
    content: { "application/problem+json": { schema: problemSchema } },
  };
  const content =
    bytes === undefined
      ? { "application/json": { schema: body ?? nothing } }
      : { [bytes]: { schema: z.string() } };
  return createRoute({
    ...{ method, path, operationId: id, summary, responses },
    ...(description === undefined ? {} : { description }),
    request: {
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined ? {} : { headers }),
      ...(method === "post"
        ? { body: { content, required: body !== undefined || bytes !== undefined } }
        : {}),
    },
  });
}
