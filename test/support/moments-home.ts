// Moments in a home of this machine, and a bucket beside it.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Throughline } from "../../src/core/throughline.ts";
import type { MomentsOptions } from "../../src/moments/options.ts";
import { consentWording } from "../../src/moments/record/consent.ts";
import { startMoments } from "../../src/moments/start-moments.ts";
import { S3Server } from "./s3/s3-server.ts";

/** Consent to everything. */
export const agreed = {
  messages: true,
  frames: true,
  audio: true,
  upload: true,
  export: true,
  wording: consentWording,
  by: "a test",
};
export const software = { name: "throughline", version: "0.0.0" };
export const sessionId = "a1b2c3d4";
/** A reaction in the chat "a". */
export const praise = {
  sentiment: "positive",
  what: "the joke",
  source: "http",
  chatId: "a",
} as const;

/** An empty home, removed after the test. */
export function newHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "throughline-moments-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** A server of buckets, the options that name its bucket, and what lies in that. */
export async function bucket(t: TestContext, buckets: readonly string[] = ["moments"]) {
  const server = await S3Server.start({ buckets: [...buckets] });
  t.after(() => server.close());
  const { endpoint, credentials } = server;
  const s3 = { bucket: "moments", region: "us-east-1", endpoint, credentials };
  const keys = () => [...server.objects("moments").keys()].sort();
  return { server, s3, keys };
}

/** Keeps moments, with consent to everything unless other options say otherwise. */
export function started(throughline: Throughline, options: Partial<MomentsOptions> = {}) {
  return startMoments(throughline, { sessionId, software, consent: agreed, ...options });
}

/** The names in a folder, none when it is not there. */
export const files = (path: string) => (existsSync(path) ? readdirSync(path) : []);
