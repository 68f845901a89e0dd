// node bench/memory.ts PRODUCT HOME runs the turns; `memory` starts it and reads what it took.
import { getHeapSpaceStatistics } from "node:v8";
import { askChild } from "./child.ts";
import { homeOf } from "./contenders.ts";
import type { Figure } from "./figure.ts";
import { echo, load, roots } from "./product.ts";
import type { Run } from "./run.ts";

const chats = 50;
const turnsEach = 300;
const mib = (bytes: number) => Math.round(bytes / 2 ** 20);

/** In MiB. */
type Memory = Readonly<Record<"most" | "after" | "young" | "live" | "outside", number>>;

/** What a process takes in memory that answered many turns. */
export async function memory({ dir }: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of Object.keys(roots)) {
    const { most, after, young, live, outside } = await askChild<Memory>(
      new URL(import.meta.url),
      [name, homeOf(name, dir)],
      process.env,
      ["--expose-gc"],
    );
    figures.push({
      says: `MiB of a process after ${chats} chats of ${turnsEach} turns, ${name}: at most; at the end ${after}, of that ${young} are the young generation, and after a collection ${live} live on the heap and ${outside} outside of it`,
      ratio: most,
      ...(name === "ours" && { target: 200 }),
    });
  }
  return figures;
}

if (import.meta.main) {
  const [, , name = "", home = ""] = process.argv;
  const throughline = await (await load(name)).openThroughline({ home });
  const turns = await throughline.turns({ model: echo, persona: "You are Nova." });
  await Promise.all(
    Array.from({ length: chats }, async (_, chat) => {
      for (let nth = 0; nth < turnsEach; nth++) {
        await turns.submit(`c${chat}`, { content: `Where do the whales go in year ${nth}?` }).done;
      }
    }),
  );
  const after = process.memoryUsage.rss();
  const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  await throughline.close();
  process.send?.({
    most: mib(process.resourceUsage().maxRSS * 1024),
    ...{ after: mib(after), young: mib(young?.physical_space_size ?? 0) },
    ...{ live: mib(heapUsed), outside: mib(external) },
  });
  process.disconnect?.();
}
