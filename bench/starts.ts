// A process that starts: after a kill, after a clean end, and with one long chat.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { addChats, fillChat } from "./child.ts";
import { type Figure, ms } from "./figure.ts";
import { listAndSearch } from "./list.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";

const script = fileURLToPath(new URL("./start-child.js", import.meta.url));

interface Started {
  /** From the start of the process to its first line. */
  readonly tookMs: number;
  readonly lines: readonly string[];
}

/** Runs it until it ends or, with `kill`, until it has said two lines; then it is killed with SIGKILL. */
async function start(args: readonly string[], how: "end" | "kill" = "end"): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  const lines: string[] = [];
  let tookMs = Number.NaN;
  for await (const line of createInterface({ input: child.stdout })) {
    if (lines.push(line) === 1) tookMs = performance.now() - began;
    if (how === "kill" && lines.length === 2) child.kill("SIGKILL");
  }
  const [code] = await ended;
  const isAsAsked = how === "kill" ? code === null && lines.length === 2 : code === 0;
  if (!isAsAsked) throw new Error(`a process that was started ended with ${code}`);
  return { tookMs, lines };
}

/** A process that says one line: Node's own start. */
function bareScript(dir: string): string {
  const path = `${dir}/bare.js`;
  writeFileSync(path, 'process.stdout.write("started\\n");\n');
  return path;
}

const mostMs: Readonly<Record<number, number>> = { 10000: 100, 100000: 120, 1000000: 300 };

/** Homes with ever more chats: the first list after a start; and lists and searches in a running process. */
export async function starts({ dir, isFull }: Run): Promise<Figure[]> {
  const home = `${dir}/home`;
  const bare = bareScript(dir);
  const figures: Figure[] = [];
  let there = 0;
  for (const chats of isFull ? [10_000, 100_000, 1_000_000] : [10_000]) {
    await addChats(home, there, chats);
    there = chats;
    for (const how of ["kill", "end"] as const) {
      figures.push(await startFigure({ home, bare, chats, how, rounds: chats > 100_000 ? 5 : 9 }));
    }
    figures.push(...(await listAndSearch(home, chats)));
  }
  return figures;
}

interface Wanted {
  readonly home: string;
  readonly bare: string;
  readonly chats: number;
  readonly how: "end" | "kill";
  readonly rounds: number;
}

async function startFigure({ home, bare, chats, how, rounds }: Wanted): Promise<Figure> {
  const node: number[] = [];
  const beyond: number[] = [];
  let newest: string | undefined;
  let isRight = true;
  // The first one starts after something else, and is not counted.
  for (let round = -1; round < rounds; round++) {
    const { tookMs: own } = await start([bare]);
    const { tookMs, lines } = await start([script, home, how], how);
    if (newest !== undefined && lines[0] !== newest) {
      isRight = false;
      console.error(`the list begins with ${lines[0]}, and not with ${newest}`);
    }
    newest = lines.at(-1);
    if (round === -1) continue;
    node.push(own);
    beyond.push(tookMs - own);
  }
  const most = how === "kill" ? (mostMs[chats] ?? Number.NaN) : 60;
  return {
    says: `start after ${how === "kill" ? "a kill" : "a clean end"}, ${chats} chats, the first list included: ${ms(median(beyond))} beyond Node's own start (${ms(median(node))}), against ${most} ms${isRight ? "" : "; THE LIST WAS NOT RIGHT"}`,
    ratio: median(beyond) / most,
    target: 1,
    isRight,
    details: { "beyond Node's own start, ms": spread(beyond) },
  };
}

/** A new process that imports, opens and reads the newest 50 of 200,000 messages. */
export async function newestMessages({ dir, isFull }: Run): Promise<Figure[]> {
  const bare = bareScript(dir);
  for (const count of [500, 200_000]) {
    await fillChat(`${dir}/home${count}`, "a", count);
  }
  const steps: Readonly<Record<string, readonly string[]>> = {
    node: [bare],
    import: [script],
    short: [script, `${dir}/home500`, "newest"],
    long: [script, `${dir}/home200000`, "newest"],
  };
  const times: Record<string, number[]> = {};
  for (let round = 0; round < (isFull ? 31 : 15); round++) {
    for (const [name, args] of Object.entries(steps)) {
      const { tookMs } = await start(args);
      times[name] = [...(times[name] ?? []), tookMs];
    }
  }
  const of = (name: string) => times[name] ?? [];
  const beyond = (name: string, other: string) =>
    median(of(name).map((time, i) => time - (of(other)[i] ?? Number.NaN)));
  const most = 12;
  return [
    {
      says: `newest 50 of 200,000 messages in a fresh process: ${ms(beyond("long", "import"))} beyond Node's start and the import (${ms(median(of("import")))}), against ${most} ms`,
      ratio: beyond("long", "import") / most,
      target: 1,
      headline: `a process that starts and shows the newest 50 of 200,000 messages takes ${median(of("long")).toFixed(0)} ms, and ${median(of("node")).toFixed(0)} ms of that is Node's own start`,
      details: {
        "the whole process, ms": spread(of("long")),
        "beyond the same with 500 messages, ms": beyond("long", "short"),
      },
    },
    {
      says: `importing throughline takes ${ms(beyond("import", "node"))} beyond Node's own start, against 5 ms`,
      ratio: beyond("import", "node") / 5,
      target: 1,
    },
  ];
}
