// What the target holds already is looked at before anything is written to it.
import { ThroughlineError } from "../../core/errors.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { compareLogs } from "./compare-logs.ts";
import { foreignDocuments } from "./documents.ts";
import { everyLog, type FoundLog } from "./every-log.ts";
import { foreignFiles } from "./files.ts";
import type { NewMarks } from "./forgotten-marks.ts";
import { inOrder, logsAtOnce } from "./in-order.ts";
import type { MoveNotes } from "./move-notes.ts";
import { chatsPlace, documentPlaces, logPlaces } from "./places.ts";
import { type LogName, type OnDamage, placeName } from "./records.ts";

interface Survey {
  /** The target held nothing at all. */
  readonly isEmpty: boolean;
  /** Names of logs of which the source erased records after they had been copied. */
  readonly withErasures: ReadonlySet<string>;
  /** Copies of chats that were forgotten at the source since. */
  readonly forgotten: readonly LogName[];
}

/** So many names stand in the message of a refusal. */
const namesTold = 3;

/**
 * Compares everything that the target holds with the source.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFLICT`: it holds something that is no copy of the source's.
 */
export async function survey(
  { from, to }: { readonly from: Storage; readonly to: Storage },
  options: {
    readonly marks: NewMarks;
    readonly notes: MoveNotes;
    readonly damaged: OnDamage;
    readonly signal?: AbortSignal | undefined;
    onLog(found: FoundLog): void;
  },
): Promise<Survey> {
  const { marks, notes, damaged, signal, onLog } = options;
  const withErasures = new Set<string>();
  const forgotten: LogName[] = [];
  const foreign: string[] = [];
  let logCount = 0;
  const compareOne = async (found: FoundLog) => {
    signal?.throwIfAborted();
    onLog(found);
    const { place, logs: target, row } = found;
    const name = { collection: place.collection, key: row.key };
    const source = from.logs(place.collection, place.projection);
    const isChat = place === chatsPlace;
    if (isChat && marks.isForgottenAtTarget(row.key)) return undefined; // started over at the target: not ours
    return { name, isChat, ...(await compareLogs({ name, source, target }, damaged)) };
  };
  for await (const compared of inOrder(everyLog(to, logPlaces), logsAtOnce, compareOne)) {
    logCount++;
    if (compared === undefined) continue;
    const { name, isChat, relation, erased } = compared;
    if (relation === "same" || relation === "behind") {
      if (erased.length > 0) withErasures.add(placeName(name));
    } else if (isChat && notes.holdsOnlyCopies && marks.isForgottenAtSource(name.key)) {
      forgotten.push(name);
    } else foreign.push(placeName(name));
  }
  foreign.push(...(await foreignDocuments(from, to, notes, signal)));
  const files = await foreignFiles({ from, to }, notes, { marks, signal });
  foreign.push(...files.names);
  if (foreign.length > 0) throw isForeign(foreign);
  const documents = await Promise.all(documentPlaces.map((each) => to.documents(each).keys()));
  const isEmpty = logCount + documents.flat().length + files.count === 0;
  return { isEmpty, withErasures, forgotten };
}

function isForeign(names: readonly string[]): ThroughlineError {
  const told = names.slice(0, namesTold).join(", ");
  const more = names.length > namesTold ? ` and ${names.length - namesTold} more` : "";
  return new ThroughlineError(
    `the target holds what is no copy of the source: ${told}${more}; nothing was written`,
    { code: "THROUGHLINE_CONFLICT" },
  );
}
