import type { MiddlewareHandler } from "hono";
import { invalid, ThroughlineError } from "../core/errors.ts";
import { addAgentRoutes } from "./agent-routes.ts";
import { addChatRoutes } from "./chat-routes.ts";
import { addExportRoute } from "./export-route.ts";
import { isAmbiguous, isDecodable, refusalOf, securityHeaders } from "./guard.ts";
import { arriving, Budget } from "./input.ts";
import { addMessageRoutes } from "./message-routes.ts";
import { addModelRoutes } from "./model-routes.ts";
import { addPage, isPagePath } from "./page-routes.ts";
import { problemResponse, reportError } from "./problem.ts";
import { type Env, type Ports, Router } from "./router.ts";
import { addServiceRoutes, type ServerState } from "./service-routes.ts";
import { addTurnRoutes } from "./turn-routes.ts";
import { addWatchRoutes } from "./watch-routes.ts";

/** All that the server answers, and what ends the features. */
export function createApp(ports: Ports, state: ServerState) {
  const router = new Router(ports);
  const { app } = router;
  app.onError((error, context) => {
    const request = context.req.raw;
    const about = { route: context.get("route"), turnId: context.get("turn"), request };
    return problemResponse(reportError(ports, error, about));
  });
  app.use(counted(ports, state), withHeaders);
  app.use(async (context, next) => {
    await next();
    context.res = await router.inForm(context.req.path, context.res);
  });
  app.use(budgeted(ports), guarded(state), signedIn(state));
  addChatRoutes(router);
  addMessageRoutes(router);
  addTurnRoutes(router);
  addAgentRoutes(router);
  addModelRoutes(router);
  addExportRoute(router);
  addWatchRoutes(router);
  // The type of a feature names no router, so that who publishes it needs no package of ours.
  const endings = ports.features.map((add) => add(router as never));
  addServiceRoutes(router, state);
  const elsewhere = addPage(router);
  router.finish(elsewhere);
  const endFeatures = () => {
    for (const end of endings) end();
  };
  return { router, endFeatures };
}

/** Answered without a token, as the page is: they hold nothing, and signing in starts there. */
const openPaths: readonly string[] = ["/healthz", "/readyz", "/api/sign-in"];
const knownMethods = ["GET", "HEAD", "POST", "PUT", "DELETE"];

/** Counts and logs every request, by its route's pattern: a path may hold a chat's name. */
function counted({ logger, clock }: Ports, { metrics }: ServerState): MiddlewareHandler<Env> {
  return async (context, next) => {
    const begun = clock.monotonic();
    context.set("route", "none");
    await next();
    const { status } = context.res;
    const method = knownMethods.includes(context.req.method) ? context.req.method : "other";
    const route = context.get("route");
    metrics.request(method, route, status);
    logger.debug({ method, route, status, ms: clock.monotonic() - begun }, "request");
  };
}

/**
 * Bounds the bytes of all bodies until their requests are answered, and of all answers to reads until they have
 * left. What was done is said: a 503 would have it done twice.
 */
function budgeted({ limits }: Ports): MiddlewareHandler<Env> {
  const bodies = new Budget(limits.arrivingBytes);
  const answers = new Budget(limits.answeredBytes);
  return async (context, next) => {
    const { req, env } = context;
    const body = bodies.hold();
    arriving.set(req.raw, body);
    await next().finally(() => body.release());
    const bytes = Number(context.res.headers.get("content-length") ?? 0);
    if (req.method !== "GET" || env.outgoing === undefined || env.outgoing.destroyed) return;
    const answer = answers.hold();
    env.outgoing.once("close", () => answer.release());
    try {
      answer.add(bytes);
    } catch (error) {
      context.res = undefined; // the headers of one would be those of the next
      throw error;
    }
  };
}

const withHeaders: MiddlewareHandler<Env> = async (context, next) => {
  await next();
  const { headers } = context.res;
  for (const [name, value] of Object.entries(securityHeaders)) {
    if (!headers.has(name)) headers.set(name, value);
  }
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  // A HEAD asks what a GET would say: a stream without a reader would stay open.
  if (context.req.raw.method === "HEAD") await context.res.body?.cancel();
};

/** Runs before every route, also one that does not exist: refuses other hosts, origins and bad paths. */
function guarded(state: ServerState): MiddlewareHandler<Env> {
  return async (context, next) => {
    const { req, env } = context;
    const url = new URL(req.url);
    const target = env.incoming?.url;
    const request = {
      host: req.header("host"),
      origin: req.header("origin"),
      site: req.header("sec-fetch-site"),
      mode: req.header("sec-fetch-mode"),
      dest: req.header("sec-fetch-dest"),
      readsPage: req.method === "GET" && isPagePath(req.path),
      url,
      target,
    };
    const refusal = refusalOf(request, state.hosts());
    if (refusal !== undefined)
      throw new ThroughlineError(refusal, { code: "THROUGHLINE_FORBIDDEN" });
    if ((target !== undefined && isAmbiguous(target)) || !isDecodable(url.pathname)) {
      throw invalid("the path is not well encoded");
    }
    await next();
  };
}

function signedIn(state: ServerState): MiddlewareHandler<Env> {
  return async (context, next) => {
    const { req } = context;
    const isOpen = openPaths.includes(req.path) || isPagePath(req.path);
    if (!isOpen && !state.access.isAllowed(req.raw.headers, state.port())) {
      throw new ThroughlineError("a token is needed", { code: "THROUGHLINE_UNAUTHORIZED" });
    }
    await next();
  };
}
