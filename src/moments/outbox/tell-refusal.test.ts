// What is missing for uploads is said once, in the log and in the statistics.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { S3Server } from "../../../test/support/s3/s3-server.ts";
import type { Logger } from "../../core/logger.ts";
import { openThroughline } from "../../core/throughline.ts";

/** As if nobody had installed it. */
function withoutClient(): () => void {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier !== "@aws-sdk/client-s3") return next(specifier, context);
      throw Object.defineProperty(new Error("not installed"), "code", {
        value: "ERR_MODULE_NOT_FOUND",
      });
    },
  });
  return () => hooks.deregister();
}

const missing = () => Promise.reject(new Error("none"));
for (const [reason, prepare] of [
  ["no_client", withoutClient],
  ["no_credentials", () => () => undefined],
] as const) {
  test(`${reason} is the reason in the statistics and one warning, the package is owed, and both end once it is there`, async (t) => {
    const server = await S3Server.start({ buckets: ["moments"] });
    const home = mkdtempSync(join(tmpdir(), "throughline-refusal-"));
    t.after(async () => {
      await server.close();
      rmSync(home, { recursive: true, force: true });
    });
    const warned: unknown[] = [];
    const quiet = () => undefined;
    const warn: Logger["warn"] = (fields) => {
      const said = (fields as { readonly reason?: string }).reason;
      if (said !== undefined) warned.push(said);
    };
    const logger: Logger = { debug: quiet, info: quiet, warn, error: quiet };
    const mend = prepare();
    let isMended = false;
    const credentials = async () => {
      return reason === "no_client" || isMended ? server.credentials : await missing();
    };
    await using throughline = await openThroughline({ home, logger });
    const { endpoint } = server;
    const moments = await throughline.startMoments({
      ...{ sessionId: "a1b2c3d4", software: { name: "throughline", version: "0.0.0" } },
      consent: { messages: true, upload: true },
      s3: { bucket: "moments", region: "us-east-1", endpoint, credentials },
    });
    moments.recorder.message({ role: "assistant", text: "Knock, knock", chatId: "a" });
    const receipt = moments.recorder.record({ sentiment: "positive", what: "it", source: "http" });
    await receipt.whenDurable();
    await moments.upload();
    await moments.upload();
    const before = moments.statistics();
    assert.deepEqual([before.storage_mode, before.storage_reason], ["local", reason]);
    assert.deepEqual([before.outbox?.pending, receipt.uploaded], [1, false]);
    assert.deepEqual(warned, [reason]);
    isMended = true;
    mend();
    await moments.upload();
    const { storage_mode, storage_reason } = moments.statistics();
    assert.deepEqual([storage_mode, storage_reason], ["local+s3", null]);
    assert.equal(receipt.uploaded, true);
  });
}
