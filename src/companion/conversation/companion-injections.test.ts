import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { SimulatedVoice } from "../../../test/support/simulated-voice.ts";
import { silentLogger } from "../../core/logger.ts";
import { openThroughline } from "../../core/throughline.ts";
import { startCompanion } from "../start-companion.ts";
import { Injector } from "./injector.ts";
import { companionInjections } from "./pending-injections.ts";

// R4, C12: decided in one run, delivered in the next, once.
test("a text that must be delivered outlives a run that could not deliver it, and comes once", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "throughline-injections-"));
  t.after(() => rmSync(home, { recursive: true }));
  const clock = new HeldClock();
  const timers = new HeldTimers(clock);
  const ports = { clock, timers, newId: () => crypto.randomUUID(), logger: silentLogger };
  const run = async (state: "inactive" | "idle") => {
    const throughline = await openThroughline({ home, clock });
    const pending = companionInjections(await startCompanion(throughline));
    const stream = new SimulatedVoice({ state });
    const injector = await Injector.open({ ...ports, stream, pending });
    return { throughline, stream, injector };
  };
  const first = await run("inactive");
  const { result } = first.injector.inject("Dinner is ready", { mustDeliver: true, id: "dinner" });
  assert.equal((await result).kind, "queued");
  await first.throughline.close(); // the injector is killed with its process: nobody closes it
  const second = await run("idle");
  await timers.pass(5_000);
  assert.equal(
    second.stream.takenTexts.filter((text) => text.includes("Dinner is ready")).length,
    1,
  );
  await second.injector.close();
  await second.throughline.close();
  const third = await run("idle");
  await timers.pass(5_000);
  assert.deepEqual(third.stream.takenTexts, []);
  await third.throughline.close();
});
