// Figures that do not depend on the disk: how much code a write enters, and what it takes of the processor.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import type { Figure } from "./figure.ts";
import { offlineResponder, openThroughline, turn, turnSize } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import type { Run } from "./run.ts";
import { alternate } from "./slices.ts";

const own = new URL("../dist/", import.meta.url).href;

/** Counts the functions of the product that `act` enters in a warm process. */
async function entered(act: () => unknown): Promise<number> {
  const session = new Session();
  session.connect();
  await act();
  await act();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await act();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const functions = result.filter(({ url }) => url.startsWith(own)).flatMap((one) => one.functions);
  return functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length;
}

/** How many functions one append and one turn enter. */
export async function weight({ dir }: Run): Promise<Figure[]> {
  const throughline = await openThroughline({ home: `${dir}/home` });
  const turns = await throughline.turns({ model: offlineResponder(), persona: "You are Nova." });
  const append = await entered(() => throughline.chats.append("a", turn()));
  const submit = await entered(() => turns.submit("a", { content: "Hello" }).done);
  await throughline.close();
  return [
    { says: "functions that one append enters", ratio: append, target: 45 },
    { says: "functions that one turn enters", ratio: submit, target: 220 },
  ];
}

/** Processor time of all threads, in memory instead of on a disk, against two bare writes. */
export async function processor({ isFull }: Run): Promise<Figure[]> {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return [];
  const dir = mkdtempSync(`${memory}/throughline-bench-`);
  try {
    const { bytes } = await turnSize(dir);
    const throughline = await openThroughline({ home: `${dir}/home` });
    const turns = await throughline.turns({ model: offlineResponder(), persona: "You are Nova." });
    const raw = new RawFile(`${dir}/raw`, bytes);
    const bare = () => {
      raw.write();
      raw.write();
    };
    let count = 0;
    const contenders = {
      bare,
      append: () => throughline.chats.append("a", turn()),
      // Ten turns to a chat: it stays a short one.
      submit: () => turns.submit(`b${Math.floor(count++ / 10)}`, { content: "Hello" }).done,
    };
    await alternate(contenders, { slices: 4, each: 250 });
    const all = await alternate(contenders, { slices: isFull ? 80 : 20, each: 250 });
    await throughline.close();
    raw.close();
    const us = (name: keyof typeof all) => `${all[name].cpuUs.toFixed(1)} us`;
    return (["append", "submit"] as const).map((name) => ({
      says: `processor time of ${name === "append" ? "a durable turn" : "turns.submit with the offline model"} in memory (${us(name)}), against two bare writes (${us("bare")})`,
      ratio: all[name].cpuUs / all.bare.cpuUs,
    }));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
