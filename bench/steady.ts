// 200 chats at once for a minute, with a search a second: whether what is left for later is bounded.
import { setTimeout as pause } from "node:timers/promises";
import { findNewest, load } from "./crowd.ts";
import type { Figure } from "./figure.ts";
import { LmdbStore } from "./lmdb-store.ts";
import { openThroughline, turn, turnSize } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";

const chats = 200;
const mib = () => process.memoryUsage.rss() / 2 ** 20;

export async function steady({ dir, isFull }: Run): Promise<Figure[]> {
  const seconds = isFull ? 60 : 15;
  const { bytes } = await turnSize(dir);
  const files = Array.from({ length: chats }, (_, i) => new RawFile(`${dir}/raw${i}`, bytes));
  const floor = async () =>
    (await load(chats, 3_000, (chat) => files[chat]?.writeDurably())).perSecond;
  const throughline = await openThroughline({ home: `${dir}/home` });
  const once = (chat: number) => throughline.chats.append(`c${chat}`, turn());
  await load(chats, 1_000, once); // compiled code, and every chat is there
  const before = await floor();

  const newest: Awaited<ReturnType<typeof findNewest>>[] = [];
  const common: number[] = [];
  const rss = [mib()];
  let stored = 0;
  const perSecond: number[] = [];
  const watch = async () => {
    const until = performance.now() + seconds * 1_000;
    while (performance.now() < until - 1_000) {
      const from = stored;
      const started = performance.now();
      await pause(1_000);
      newest.push(await findNewest(throughline));
      const asked = performance.now();
      await throughline.chats.search("whale", { limit: 50 });
      common.push(performance.now() - asked);
      perSecond.push((1_000 * (stored - from)) / (performance.now() - started));
      rss.push(mib());
    }
  };
  const watching = watch();
  const ours = await load(chats, seconds * 1_000, async (chat) => {
    await once(chat);
    stored++;
  });
  await watching;
  const caughtUp = await findNewest(throughline);
  await throughline.close();
  const after = await floor();
  const lmdb = new LmdbStore(`${dir}/lmdb`);
  const peer = await load(chats, (seconds * 1_000) / 3, (chat) => lmdb.append(`c${chat}`));
  await lmdb.close();
  for (const file of files) file.close();

  const floorRate = (before + after) / 2;
  const searches = spread(newest.map(({ tookMs }) => tookMs));
  const isComplete = newest.every(({ isFound, tries }) => isFound && tries === 1);
  const load60 = `${chats} chats at once for ${seconds} s with two searches a second`;
  return [
    {
      says: `${load60}: turns a second (${Math.round(ours.perSecond)}) against blocking write + fdatasync before and after (${Math.round(floorRate)}); lmdb without an index ${Math.round(peer.perSecond)}`,
      ratio: ours.perSecond / floorRate,
      least: 3,
      details: {
        "ours, ms": spread(ours.latencies),
        "ours, turns a second in the slowest second": Math.min(...perSecond),
        "ours, turns a second in the last quarter": median(
          perSecond.slice(-Math.ceil(perSecond.length / 4)),
        ),
        "lmdb, ms": spread(peer.latencies),
        "memory at the beginning, MiB": rss[0] ?? Number.NaN,
        "memory at most, MiB": Math.max(...rss),
        "memory after a third, MiB": rss[Math.floor(rss.length / 3)] ?? Number.NaN,
        "memory at the end, MiB": rss.at(-1) ?? Number.NaN,
        "after the load until a search finds the newest message, ms": caughtUp.sinceMs,
      },
    },
    {
      says: `${load60}: delay of the event loop, p99 (${ours.delay.p99.toFixed(1)} ms), against 20 ms`,
      ratio: ours.delay.p99 / 20,
      target: 1,
      details: { "delay of the event loop, ms": ours.delay },
    },
    {
      says: `${load60}: the slowest search for the newest message (${searches.max.toFixed(0)} ms) against 300 ms; ${isComplete ? "each was found at once" : "SOME WERE NOT FOUND AT ONCE"}`,
      ratio: searches.max / 300,
      target: 1,
      isRight: isComplete,
      details: {
        "a search for the newest message, ms": searches,
        "a search for a word of every answer, ms": spread(common),
        "newest messages that were not found at once": newest.filter(({ tries }) => tries > 1)
          .length,
      },
    },
  ];
}
