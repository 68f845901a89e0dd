import { z } from "zod";
import { type Clock, keptFor } from "../core/clock.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import type { Storage } from "../core/storage/storage.ts";
import type { Access } from "./access.ts";
import type { AllowedHosts } from "./guard.ts";
import type { Metrics } from "./metrics.ts";
import { type Problem, problem, problemResponse } from "./problem.ts";
import { json, type Router } from "./router.ts";
import { schemaOf, text } from "./schemas.ts";

/** What is of the server alone, and changes while it lives. */
export interface ServerState {
  readonly access: Access;
  readonly metrics: Metrics;
  readonly readiness: ReturnType<typeof readinessOf>;
  readonly hosts: () => AllowedHosts;
  readonly port: () => number;
}

const signInBody = () => z.strictObject({ code: text(64) }).meta({ id: "SignIn" });

/** What the server says of itself, and how a browser signs in. */
export function addServiceRoutes(router: Router, state: ServerState): void {
  addHealth(router, state);
  addSignIn(router, state);
  router.serve("get", "/api/openapi.json", async () => json(await router.describe()));
}

function addHealth(router: Router, { metrics, readiness }: ServerState): void {
  const { throughline, version, clock } = router.ports;
  const startedAt = clock.monotonic();
  router.get("/healthz", {
    id: "getHealth",
    summary: "Check that the server runs; needs no token",
    description: "It does not check whether anything can be stored: `/readyz` does.",
    answers: {
      200: { says: "It runs. `degraded`: there were repairs.", schema: schemaOf("health") },
    },
    answer: () => {
      const repairs = throughline.storage.repairs().length;
      const status = repairs === 0 ? "ok" : "degraded";
      const uptime = Math.round(clock.monotonic() - startedAt) / 1000;
      return json({ status, version, uptime_seconds: uptime, repairs });
    },
  });
  router.get("/readyz", {
    id: "getReadiness",
    summary: "Check that something could be stored now; needs no token",
    description:
      "503 with the reason when not: the home was taken over, the disk is full " +
      "or fails, or the database does not answer. Reading may still work. Checked at most every 2 seconds.",
    answers: { 200: { says: "It could.", schema: schemaOf("ready") } },
    answer: async () => {
      const reason = await readiness();
      return reason === undefined ? json({ status: "ready" }) : problemResponse(reason);
    },
  });
  router.get("/metrics", {
    id: "getMetrics",
    summary: "Get counts and durations for Prometheus",
    answers: { 200: { says: "Its text format.", types: ["text/plain"] } },
    answer: async () => {
      const type = "text/plain; version=0.0.4; charset=utf-8";
      return new Response(await metrics.text(), { headers: { "content-type": type } });
    },
  });
}

function addSignIn(router: Router, { access, port }: ServerState): void {
  router.post("/api/sign-in", {
    id: "signIn",
    body: signInBody,
    summary: "Sign a browser in with the code from the terminal; needs no token",
    description: "A code works once, within 60 seconds, and is void after 5 wrong guesses.",
    answers: { 204: { says: "Signed in: the cookie is set." } },
    answer: ({ body }, context) => {
      const isSecure = context.req.header("origin")?.startsWith("https:") ?? false;
      const cookie = access.signIn(body.code, port(), isSecure);
      if (cookie === undefined) {
        throw new ThroughlineError("this code is not valid, or not any more", {
          code: "THROUGHLINE_UNAUTHORIZED",
        });
      }
      return new Response(null, { status: 204, headers: { "set-cookie": cookie } });
    },
  });
}

/** How long an answer counts, in milliseconds: finding out writes to the disk, and needs no token. */
const validMs = 2_000;

/** @returns what says why nothing can be stored now; `undefined`: it can. */
export function readinessOf(storage: Storage, clock: Clock): () => Promise<Problem | undefined> {
  return keptFor(validMs, clock, async () => {
    try {
      await storage.ready();
      return undefined;
    } catch (error) {
      if (!isThroughlineError(error)) return problem("THROUGHLINE_INTERNAL");
      return problem(error.code, error.message);
    }
  });
}
