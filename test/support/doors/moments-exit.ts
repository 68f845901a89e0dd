// A process that records moments and ends as its plan says, whatever they have come to by then.
// Prints what becomes of each, in the instant in which the receipt says it.
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { realDisk } from "../../../src/core/storage/disk/disk.ts";
import { systemTimers } from "../../../src/core/timers.ts";
import { PackageDirectory } from "../../../src/moments/directory/package-directory.ts";
import { consentWording } from "../../../src/moments/record/consent.ts";
import { MomentRecorder } from "../../../src/moments/record/moment-recorder.ts";
import { hookedDisk } from "../hooked-disk.ts";
import type { ExitPlan } from "../moments-exits.ts";
import { jpegOf } from "../package-workload.ts";
import { say } from "../say.ts";

const plan = JSON.parse(process.argv[3] ?? "{}") as ExitPlan;

/** Whether the calls that change something count now: the process ends in the chosen one. */
let isArmed = false;
let steps = 0;
const uncounted = ["read", "list", "truncate"];
const disk = hookedDisk(realDisk, (call, _, { of }) => {
  if (!isArmed || uncounted.includes(call) || (call === "open" && of !== "create")) return;
  if (++steps !== plan.step) return;
  say(`step ${steps}`);
  if (plan.end === "exit in a step") process.exit(0);
  process.kill(process.pid, "SIGKILL");
});

const packages = await PackageDirectory.open({ path: plan.path, disk });
const recorder = new MomentRecorder({
  ...{ sink: packages, sessionId: "a1b2c3d4", software: { name: "test", version: "0.0.0" } },
  ...{ clock: systemClock, timers: systemTimers, logger: silentLogger },
  consent: {
    ...{ messages: true, frames: true, audio: true, upload: true, export: true },
    ...{ wording: consentWording, by: "a test" },
  },
  onEvent: ({ type, receipt }) => say(`${type} ${receipt.name}`),
});
const end = async () => {
  await recorder.close();
  await packages.close();
};
process.on("SIGTERM", () => void end());

recorder.message({ role: "user", text: "Tell me a joke", id: "m1", turnId: "t1" });
recorder.message({ role: "assistant", text: "Knock, knock", id: "m2", turnId: "t1" });
for (let i = 0; i < plan.frames; i++) {
  // By the sender's clock none comes too soon.
  recorder.frame(jpegOf(0, i, plan.frameBytes), { sourceMs: i * 500 });
}
recorder.audio(new Int16Array(plan.samples).fill(7));
isArmed = plan.end === "kill in a step" || plan.end === "exit in a step";
for (let i = 0; i < plan.moments; i++) {
  recorder.record({ sentiment: "positive", what: `joke ${i}`, source: "http" });
}
say("recorded");
if (plan.afterMs > 0) await pause(plan.afterMs);
switch (plan.end) {
  case "exit":
    process.exit(0);
    break;
  case "kill":
    process.kill(process.pid, "SIGKILL");
    break;
  case "throw":
    setImmediate(() => {
      throw new Error("nobody catches this");
    });
    break;
  case "block":
    for (const until = performance.now() + 100; performance.now() < until; );
    process.exit(0);
    break;
  case "signal":
    process.kill(process.pid, "SIGTERM");
    break;
  default:
    // The step that is chosen ends it; without one it is done when all is saved.
    await end();
}
