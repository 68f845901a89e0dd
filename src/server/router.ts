import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { z } from "zod";
import type { MediaSockets } from "../moments/routes/media-sockets.ts";
import type { Upgrade } from "../moments/routes/media-upgrade.ts";
import type { Access } from "./access.ts";
import { readJson } from "./body.ts";
import type { Watchers } from "./events.ts";
import type { AllowedHosts } from "./guard.ts";
import { parseInput, queryOf } from "./input.ts";
import type { Metrics } from "./metrics.ts";
import { type AnyOperation, type Nothing, type Operation, takenBy } from "./operation.ts";
import type { Settings } from "./options.ts";
import { problem, problemResponse } from "./problem.ts";
import type { Readiness } from "./readiness.ts";

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
  readonly readiness: Readiness;
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

export interface Input<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

/** The routes, and their description: neither has an operation that the other lacks. */
export class Router {
  readonly app: Hono<Env>;
  readonly ports: Ports;
  readonly #methods = new Map<string, string[]>();
  readonly #operations: AnyOperation[] = [];

  constructor(ports: Ports) {
    this.ports = ports;
    // Matched as it came, and decoded once, by `param`: an encoded slash is part of an id.
    const getPath = (request: Request) => new URL(request.url).pathname;
    // The usual one makes a pattern of all routes first, which is most of what the first request waits for.
    this.app = new Hono<Env>({ getPath, router: new TrieRouter() });
  }

  /** Adds an operation. What a client sends is checked before `work` sees it. */
  add<
    Params extends z.ZodObject = Nothing,
    Query extends z.ZodObject = Nothing,
    Body extends z.ZodType = Nothing,
  >(
    operation: Operation<Params, Query, Body>,
    work: (
      input: Input<z.output<Params>, z.output<Query>, z.output<Body>>,
      context: Context<Env>,
    ) => Response | Promise<Response>,
  ): void {
    const { method, path, bytes } = operation;
    this.#operations.push(operation);
    let taken: ReturnType<typeof takenBy<Params, Query, Body>> | undefined;
    this.serve(method, path, async (context) => {
      const { req } = context;
      taken ??= takenBy(operation);
      const { params, query, body } = taken;
      const input = {
        params: parseInput(params, operation.params ? req.param() : {}, "the path"),
        query: parseInput(query, queryOf(new URL(req.url)), "the query"),
        body:
          method === "post" && bytes === undefined
            ? parseInput(
                body,
                await readJson(req.raw, this.ports.limits.bodyBytes, incomingOf(context)),
                "the body",
              )
            : {},
      };
      return this.ports.begin(() => work(input as Parameters<typeof work>[0], context));
    });
  }

  /** What the description tells of: every operation that was added. */
  get operations(): readonly AnyOperation[] {
    return this.#operations;
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

/**
 * The body as Node reads it, where there is a connection: the request would make a stream of the web's
 * of it, which is most of what the first one costs. What is left of it is the server's.
 */
function incomingOf({ env }: Context<Env>): AsyncIterable<Uint8Array> | undefined {
  return env.incoming?.iterator({ destroyOnReturn: false });
}

export function json(value: object, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** For readers that are too slow: lets go of the connection, if there is one. */
export function disconnect(context: Context<Env>): () => void {
  return () => context.env.outgoing?.destroy();
}

/** A HEAD asks what a GET would say, without its work: a stream that nobody reads would stay open. */
export function isHead(context: Context<Env>): boolean {
  return context.req.raw.method === "HEAD";
}

function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
