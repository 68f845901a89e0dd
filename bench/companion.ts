// What a companion costs beside the conversation: a pass of its loop, a save, a boot.
import { spawn, spawnSync } from "node:child_process";
import { setImmediate } from "node:timers/promises";
import { startCompanion } from "../src/companion/start-companion.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { HeldClock } from "../test/support/held-clock.ts";
import { addChats } from "./child.ts";
import { type Figure, ms } from "./figure.ts";
import { median } from "./samples.ts";
import { scratch } from "./scratch.ts";

/** A pass of the loop with nothing due, in microseconds against 2. */
export async function loopTick(): Promise<Figure[]> {
  const clock = new HeldClock();
  const throughline = await openThroughline({ storage: "memory", clock });
  const companion = await startCompanion(throughline);
  companion.tick();
  await setImmediate();
  companion.tick();
  const samples: number[] = [];
  for (let round = 0; round < 50; round++) {
    const started = performance.now();
    for (let i = 0; i < 10_000; i++) companion.tick();
    samples.push((performance.now() - started) / 10);
  }
  await throughline.close();
  const us = median(samples);
  return [
    {
      says: `one pass of the loop with nothing due takes ${us.toFixed(3)} us; against 2 us`,
      ratio: us / 2,
      target: 1,
    },
  ];
}

/** The time that a save keeps the event loop busy, with everything in it that it can hold. */
export async function save(): Promise<Figure[]> {
  const dir = scratch();
  const throughline = await openThroughline({ home: `${dir.path}/home` });
  const companion = await startCompanion(throughline);
  for (let i = 0; i < 50; i++) {
    companion.personSaid(`telegram:${i}`, "the grey whale swims from the north ".repeat(14));
    companion.replied(`telegram:${i}`, "and back to the warm bays each winter ".repeat(14));
  }
  for (let i = 0; i < 5; i++) companion.emotions.event("abuse");
  companion.personSeen("Ori");
  const samples: number[] = [];
  for (let round = 0; round < 200; round++) {
    const busy = performance.eventLoopUtilization();
    await companion.save();
    samples.push(performance.eventLoopUtilization(busy).active);
  }
  await throughline.close();
  dir.remove();
  const time = median(samples);
  return [
    {
      says: `a save with full buffers keeps the loop busy for ${ms(time)}; against 2 ms`,
      ratio: time / 2,
      target: 1,
    },
  ];
}

/** From the start of a process to its first answer over HTTP, above Node's own start. */
export async function boot(): Promise<Figure[]> {
  const dir = scratch();
  const home = `${dir.path}/home`;
  await addChats(home, 0, 10_000);
  const samples: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < 9; round++) {
    const started = performance.now();
    spawnSync(process.execPath, ["-e", "0"]);
    bare.push(performance.now() - started);
    samples.push(await firstAnswer(home));
  }
  dir.remove();
  const above = median(samples) - median(bare);
  return [
    {
      says: `a server on 10,000 chats answers its first turn ${ms(above)} after Node's own start (${ms(median(bare))}); against 300 ms`,
      ratio: above / 300,
      target: 1,
    },
  ];
}

async function firstAnswer(home: string): Promise<number> {
  const started = performance.now();
  const child = spawn(
    process.execPath,
    ["dist/app/main.js", "serve", "--home", home, "--port", "0"],
    { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, OLLAMA_HOST: "127.0.0.1:9" } },
  );
  try {
    let said = "";
    for await (const chunk of child.stdout) {
      said += String(chunk);
      const url = /http:\S+/.exec(said)?.[0];
      if (url === undefined) continue;
      const response = await fetch(`${url}/api/chats/local%3Ame/messages`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"content":"Hello"}',
      });
      await response.json();
      if (response.status !== 200) throw new Error(`the first turn answered ${response.status}`);
      return performance.now() - started;
    }
    throw new Error("the server did not start");
  } finally {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  }
}
