// Lists and searches in a running process, in a home with many chats.
import { type Figure, ms } from "./figure.ts";
import { openThroughline } from "./product.ts";
import { type Spread, spread } from "./samples.ts";

export async function listAndSearch(home: string, count: number): Promise<Figure[]> {
  const throughline = await openThroughline({ home });
  const { chats } = throughline;
  const works: Readonly<Record<string, (i: number) => Promise<unknown>>> = {
    "the first 50 chats": () => chats.list({ limit: 50 }),
    "a page of 50 after 1,000 others": pageAfter(await cursorAfter(chats, 1_000), chats),
    "a search for a word of a few messages": (i) => chats.search(`month${i}`, { limit: 50 }),
    "a search for a word of every message": () => chats.search("whales", { limit: 50 }),
    "a search for two words of every message": () => chats.search("north whales", { limit: 50 }),
    "chats by a word": (i) => chats.findChats(`month${i}`, { limit: 50 }),
    "the newest 50 messages of some chat": (i) => chats.messages(`telegram:${i}`),
  };
  const details: Record<string, Spread> = {};
  for (const [name, work] of Object.entries(works)) {
    const samples: number[] = [];
    const until = performance.now() + 3_000;
    for (let i = 0; i < 500 && performance.now() < until; i++) {
      const started = performance.now();
      await work(i);
      samples.push(performance.now() - started);
    }
    details[`${name}, ms`] = spread(samples);
  }
  await throughline.close();
  const first = details["the first 50 chats, ms"]?.p50 ?? Number.NaN;
  return [
    {
      says: `first page of 50 of ${count} chats (${ms(first)}), against 1 ms; and other lists and searches`,
      ratio: first,
      details,
    },
  ];
}

type Chats = Awaited<ReturnType<typeof openThroughline>>["chats"];

const pageAfter = (cursor: string | undefined, chats: Chats) => () =>
  chats.list({ limit: 50, cursor });

const cursorAfter = async (chats: Chats, limit: number) => (await chats.list({ limit })).cursor;
