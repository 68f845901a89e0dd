// Homes of a companion that runs left behind, made in this process with a clock that is held.
import fs from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Companion } from "../../src/companion/companion.ts";
import { startCompanion } from "../../src/companion/start-companion.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { Logger } from "../../src/core/logger.ts";
import type { Responder } from "../../src/core/models/responder.ts";
import {
  openThroughline,
  type Throughline,
  type ThroughlineOptions,
} from "../../src/core/throughline.ts";
import { temporaryDirectory } from "./command-line.ts";
import { HeldClock } from "./held-clock.ts";

/** A held clock of a machine that tells its boot. */
export class HeldBootClock extends HeldClock {
  boot = "boot-a";
  /** Of the machine, when the clock began. */
  upSince = 1_000_000;
  bootId = () => this.boot;
  uptimeMs = () => this.upSince + this.monotonic();
}

export interface Up {
  readonly throughline: Throughline;
  readonly companion: Companion;
  /** What was warned of, as one text. */
  readonly warnings: () => string;
}

/** Opens a home and begins a run in it. The caller closes the throughline, or leaves it as if killed. */
export async function up(place: ThroughlineOptions): Promise<Up> {
  const warned: string[] = [];
  const note = (...args: readonly unknown[]) => void warned.push(JSON.stringify(args));
  const ignore = () => undefined;
  const logger: Logger = { debug: ignore, info: ignore, warn: note, error: note };
  const throughline = await openThroughline({ durability: "process", logger, ...place });
  try {
    const companion = await startCompanion(throughline);
    return { throughline, companion, warnings: () => warned.join("\n") };
  } catch (error) {
    await throughline.close();
    throw error;
  }
}

/** Says things in a chat, each answered with its own words a second later; a minute for each. */
export async function talk(
  { throughline }: Up,
  clock: HeldClock,
  chatId: string,
  said: readonly string[],
): Promise<void> {
  const target = { provider: "offline", model: "offline" };
  const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
  for (const content of said) {
    const responder: Responder = {
      ...{ ...target, window: undefined },
      async *respond() {
        clock.pass(1_000);
        yield { type: "text", text: `You said: ${content}` };
        yield { type: "end", finish: "stop", usage };
      },
    };
    const turns = await throughline.turns({ model: responder, maxQueued: 1 });
    await turns.submit(chatId, { content }).done;
    clock.pass(59_000);
  }
}

export const newHome = (t: TestContext) => join(temporaryDirectory(t), "home");

/** Every file under a directory, by its path in it. */
export function filesOf(directory: string): ReadonlyMap<string, Buffer> {
  const names = fs.readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => fs.statSync(join(directory, name)).isFile());
  return new Map(files.map((name) => [name, fs.readFileSync(join(directory, name))]));
}

/** What each chat of a home holds, byte for byte. */
export function chatsOf(home: string): ReadonlyMap<string, string> {
  const files = [...filesOf(join(home, "chats"))];
  return new Map(files.map(([name, bytes]) => [name, bytes.toString("latin1")]));
}

const sessionFile = (home: string) => join(home, "session/session.json");

/** The companion document of a home, without the fields that seal it. */
export function documentIn(home: string): JsonObject {
  const { _key, _revision, _crc, ...value } = JSON.parse(
    fs.readFileSync(sessionFile(home), "utf8"),
  ) as JsonObject;
  return value;
}

/** Writes the companion document as another program or an editor would: no seal, no older copy. */
export function editDocument(home: string, text: string): void {
  fs.rmSync(`${sessionFile(home)}.bak`, { force: true });
  fs.writeFileSync(sessionFile(home), text);
}
