// Figures that do not depend on the disk or the machine: how much code a write enters.
import { Session } from "node:inspector/promises";
import type * as Api from "../src/index.ts";
import type { Figure } from "./figure.ts";
import { echo, roots, turn } from "./product.ts";
import type { Run } from "./run.ts";

interface Entered {
  readonly functions: number;
  readonly files: number;
}

/** Counts the functions and files of a folder that `act` enters in a warm process. */
async function entered(folder: string, act: () => unknown): Promise<Entered> {
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
  const counts = result
    .filter(({ url }) => url.startsWith(folder))
    .map(({ functions }) => functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length)
    .filter((count) => count > 0);
  return { functions: counts.reduce((sum, count) => sum + count, 0), files: counts.length };
}

/** How much of the sources one append and one turn enter. */
export async function weight({ dir }: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, root] of Object.entries(roots)) {
    const { openThroughline } = (await import(`${root}src/index.ts`)) as typeof Api;
    const throughline = await openThroughline({ home: `${dir}/weight-${name}` });
    const turns = await throughline.turns({ model: echo, persona: "You are Nova." });
    const append = await entered(`${root}src/`, () => throughline.chats.append("a", turn()));
    const submit = await entered(`${root}src/`, () => turns.submit("a", { content: "Hello" }).done);
    await throughline.close();
    const row = (says: string, ratio: number, target: number): Figure => ({
      says: `${says}, ${name}`,
      ratio,
      ...(name === "ours" && { target }),
    });
    figures.push(
      row("functions that one append enters", append.functions, 45),
      row("files that one append enters", append.files, 12),
      row("functions that one turn enters", submit.functions, 330),
      row("files that one turn enters", submit.files, 45),
    );
  }
  return figures;
}
