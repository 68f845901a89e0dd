// Appends to the logs of a home, erases and deletes, and says on its output what it begins and what was
// done: `acts HOME SEED ACTS QUEUES [stay]`. The parent kills it, or copies the disk
// under it. With `stay` it does not close the home, and waits to be killed.
import { seededRandom } from "../../../src/testing/random.ts";
import { openRealHome } from "../real-home.ts";
import { say as sayLine } from "../say.ts";
import { type Act, recordOf } from "../storage-workload.ts";

const [home = "", seed = "1", acts = "40", queues = "1", stay] = process.argv.slice(3);

const say = (line: object) => sayLine(JSON.stringify(line));
const { storage, logs } = await openRealHome(home);
say({ opened: true });

async function perform(act: Act): Promise<void> {
  say({ begun: act });
  if (act.do === "append") await logs.append(act.key, act.batch.map(recordOf));
  else if (act.do === "erase") await logs.erase(act.key, [act.id]);
  else await logs.delete(act.key);
  say({ done: act });
}

/** Acts on logs that no other queue touches, which are done in the order in which they were begun. */
async function actAll(queue: number): Promise<void> {
  const random = seededRandom(Number(seed) * 16 + queue);
  const ids: Record<string, string[]> = {};
  for (let i = 0; i < Number(acts); i++) {
    const key = `q${queue}-${random(2)}`;
    const known = ids[key] ?? [];
    const choice = known.length < 6 ? 0 : random(24);
    if (choice === 23) {
      await perform({ do: "delete", key });
      ids[key] = [];
    } else if (choice >= 21) {
      await perform({ do: "erase", key, id: known[random(known.length)] ?? "" });
    } else {
      // Some are begun while others of the same log are under way.
      const batches = Array.from({ length: Math.max(1, random(8) - 3) }, (_, nth) => {
        return Array.from(
          { length: 1 + random(4) },
          (__, n) => `m${seed}-${queue}-${i}-${nth}-${n}`,
        );
      });
      await Promise.all(batches.map((batch) => perform({ do: "append", key, batch })));
      ids[key] = [...known, ...batches.flat()];
    }
  }
}

await Promise.all(Array.from({ length: Number(queues) }, (_, queue) => actAll(queue)));
if (stay === "stay") {
  say({ stays: true });
  setInterval(() => undefined, 1_000);
} else {
  await storage.close();
  say({ closed: true });
}
