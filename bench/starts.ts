// A process that starts: after a kill, after a clean end, after much was written, and with one long chat.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { addChats, fillChat } from "./child.ts";
import { homeOf } from "./contenders.ts";
import { type Figure, ms } from "./figure.ts";
import { listAndSearch } from "./list.ts";
import { entryOf, roots } from "./product.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";

const script = fileURLToPath(new URL("./start-child.js", import.meta.url));
const products = Object.keys(roots);

interface Started {
  /** From the start of the process to its first line. */
  readonly tookMs: number;
  /** Of the processor, until that line. */
  readonly cpuMs: number;
  readonly did: readonly unknown[];
}

/** Runs it until it ends or, with a number, until it has said so many lines; then it is killed with SIGKILL. */
async function start(args: readonly string[], killAfter?: number): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  const did: unknown[] = [];
  let [tookMs, cpuMs] = [Number.NaN, Number.NaN];
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as { readonly did: unknown; readonly cpuMs: number };
    if (did.push(said.did) === 1) [tookMs, cpuMs] = [performance.now() - began, said.cpuMs];
    if (did.length === killAfter) child.kill("SIGKILL");
  }
  const [code] = await ended;
  const isAsAsked = killAfter === undefined ? code === 0 : code === null;
  if (!isAsAsked) throw new Error(`a process that was started ended with ${code}`);
  return { tookMs, cpuMs, did };
}

/** A process that says one line: Node's own start. */
function bareScript(dir: string): string {
  const path = `${dir}/bare.js`;
  const text = "const { user, system } = process.cpuUsage();\n";
  writeFileSync(
    path,
    `${text}process.stdout.write(JSON.stringify({ cpuMs: (user + system) / 1_000 }) + "\\n");\n`,
  );
  return path;
}

type Level = "power-cut" | "process";

const mostMs: Readonly<Record<number, number>> = { 10000: 100, 100000: 120, 1000000: 300 };

/** Homes with ever more chats: the first list after a start; and lists and searches in a running process. */
export async function starts({ dir, isFull }: Run): Promise<Figure[]> {
  const bare = bareScript(dir);
  const figures: Figure[] = [];
  let there = 0;
  for (const chats of isFull ? [10_000, 100_000, 1_000_000] : [10_000]) {
    for (const name of products) await addChats(homeOf(name, dir), there, chats, name);
    there = chats;
    const rounds = chats > 100_000 ? 5 : 9;
    for (const how of ["kill", "end"] as const) {
      figures.push(...(await startFigures({ dir, bare, chats, how, rounds })));
    }
    figures.push(...(await listAndSearch(homeOf("ours", dir), chats)));
  }
  return figures;
}

interface Wanted {
  readonly dir: string;
  readonly bare: string;
  readonly chats: number;
  readonly how: "end" | "kill";
  readonly rounds: number;
}

async function startFigures({ dir, bare, chats, how, rounds }: Wanted): Promise<Figure[]> {
  const node: number[] = [];
  const beyond: Record<string, number[]> = {};
  const newest: Record<string, unknown> = {};
  const wrong = new Set<string>();
  // The first one starts after something else, and is not counted.
  for (let round = -1; round < rounds; round++) {
    const { tookMs: own } = await start([bare]);
    if (round >= 0) node.push(own);
    for (const name of products) {
      const args = [script, entryOf(name), homeOf(name, dir), "power-cut", how];
      const { tookMs, did } = await start(args, how === "kill" ? 2 : undefined);
      if (newest[name] !== undefined && did[0] !== newest[name]) wrong.add(name);
      newest[name] = did[1];
      if (round >= 0) beyond[name] = [...(beyond[name] ?? []), tookMs - own];
    }
  }
  const most = how === "kill" ? (mostMs[chats] ?? Number.NaN) : 60;
  return products.map((name) => ({
    says: `start after ${how === "kill" ? "a kill" : "a clean end"}, ${chats} chats, the first list included, ${name}: ms beyond Node's own start (${ms(median(node))})${wrong.has(name) ? "; THE LIST WAS NOT RIGHT" : ""}`,
    ratio: median(beyond[name] ?? []),
    ...(name === "ours" && { target: most }),
    isRight: !wrong.has(name),
    details: { "beyond Node's own start, ms": spread(beyond[name] ?? []) },
  }));
}

/** A process that is killed in the middle of its work, and the two that start after it: each is killed once it has listed. */
export async function busyStarts({ dir, isFull }: Run): Promise<Figure[]> {
  const bare = bareScript(dir);
  const plans: readonly (readonly [appends: number, level: Level, mostMs: number])[] = [
    [40_000, "power-cut", 100],
    [40_000, "process", 100],
    ...(isFull ? [[1_000_000, "power-cut", 150] as const] : []),
  ];
  const figures: Figure[] = [];
  for (const [appends, level, most] of plans) {
    for (const name of products) {
      const home = `${dir}/busy-${name}-${appends}-${level}`;
      await addChats(home, 0, 10_000, name);
      const args = [script, entryOf(name), home, level];
      const found: [Started[], Started[]] = [[], []];
      let node: Started | undefined;
      let isRight = true;
      for (let round = 0; round < (appends > 100_000 ? 2 : 3); round++) {
        const { did } = await start([...args, "fill", String(appends)], 2);
        node = await start([bare]);
        for (const nth of [0, 1] as const) {
          const one = await start([...args, "list"], 1);
          isRight &&= one.did[0] === did[1];
          found[nth].push(one);
        }
      }
      for (const [nth, all] of found.entries()) {
        const wall = median(all.map(({ tookMs }) => tookMs - (node?.tookMs ?? 0)));
        figures.push({
          says: `start after ${appends} appends and a kill, level ${level}, 10,000 chats${nth === 1 ? ", killed again soon after" : ""}, the first list included, ${name}: ms of the processor beyond Node's own start; ${ms(wall)} by the clock${isRight ? "" : "; THE LIST WAS NOT RIGHT"}`,
          ratio: median(all.map(({ cpuMs }) => cpuMs - (node?.cpuMs ?? 0))),
          ...(name === "ours" && { target: most }),
          isRight,
        });
      }
    }
  }
  return figures;
}

/** A new process that imports, opens and reads the newest 50 messages of a long chat. */
export async function newestMessages({ dir, isFull }: Run): Promise<Figure[]> {
  const bare = bareScript(dir);
  const count = isFull ? 1_000_000 : 20_000;
  const steps: Record<string, readonly string[]> = { node: [bare] };
  for (const name of products) {
    await fillChat(homeOf(name, dir), "a", count, name);
    steps[`import ${name}`] = [script, entryOf(name)];
    steps[name] = [script, entryOf(name), homeOf(name, dir), "power-cut", "newest"];
  }
  const times: Record<string, number[]> = {};
  for (let round = 0; round < (isFull ? 31 : 15); round++) {
    for (const [step, args] of Object.entries(steps)) {
      times[step] = [...(times[step] ?? []), (await start(args)).tookMs];
    }
  }
  const of = (step: string) => times[step] ?? [];
  const beyond = (step: string, other: string) =>
    median(of(step).map((time, i) => time - (of(other)[i] ?? Number.NaN)));
  return products.flatMap((name) => [
    {
      says: `newest 50 of ${count} messages in a fresh process, ${name}: ms beyond Node's start and the import (${ms(median(of(`import ${name}`)))})`,
      ratio: beyond(name, `import ${name}`),
      ...(name === "ours" && {
        target: 25,
        headline: `a process that starts and shows the newest 50 of ${count} messages takes ${median(of(name)).toFixed(0)} ms, and ${median(of("node")).toFixed(0)} ms of that is Node's own start`,
      }),
      details: { "the whole process, ms": spread(of(name)) },
    },
    {
      says: `importing throughline, ${name}: ms beyond Node's own start`,
      ratio: beyond(`import ${name}`, "node"),
      ...(name === "ours" && { target: 5 }),
    },
  ]);
}
