// The lines of a transcript: what was said, the days between, what the server told beside it.
import { useMemo } from "react";
import type { Message } from "../api/types.ts";
import { type FeedState, isShown, type Live, type Note, type Waiting } from "./feed-state.ts";

export type Row =
  | { readonly kind: "day"; readonly key: string; readonly label: string }
  | { readonly kind: "message"; readonly key: string; readonly message: Message }
  | { readonly kind: "note"; readonly key: string; readonly note: Note }
  | { readonly kind: "live"; readonly key: string; readonly live: Live }
  | { readonly kind: "waiting"; readonly key: string; readonly waiting: Waiting };

/** The rows of a feed, oldest first. What was said already is not gone through for every new word. */
export function useRows(state: FeedState): readonly Row[] {
  const { messages, notes, live, waiting, status } = state;
  const said = useMemo(() => rowsOf(messages, notes), [messages, notes]);
  return useMemo(() => {
    const isStored = live !== undefined && messages.at(-1)?.id === answerKey(live.turnId);
    const coming: Row[] =
      live === undefined || isStored ? [] : [{ kind: "live", key: answerKey(live.turnId), live }];
    // What was said already shows whether that arrived.
    const isKnown = ({ state }: Waiting) => state !== "unsure" || status !== "loading";
    const rest = waiting
      .filter(isKnown)
      .map((each): Row => ({ kind: "waiting", key: each.key, waiting: each }));
    return [...said, ...coming, ...rest];
  }, [said, live, waiting, messages, status]);
}

/** The answer keeps its row when it is stored: nothing jumps. */
function answerKey(turnId: string): string {
  return `${turnId}:answer`;
}

function rowsOf(messages: readonly Message[], notes: readonly Note[]): Row[] {
  const rows: Row[] = [];
  let day = "";
  let next = 0;
  for (const message of messages) {
    next = addNotes(rows, notes, next, message.seq - 1);
    if (!isShown(message)) continue;
    const label = dayOf(message);
    if (label !== "" && label !== day) {
      rows.push({ kind: "day", key: `day ${label}`, label });
      day = label;
    }
    rows.push({ kind: "message", key: message.id, message });
  }
  addNotes(rows, notes, next, Number.MAX_SAFE_INTEGER);
  return rows;
}

/** Adds those that came after messages up to this one. @returns where to go on. */
function addNotes(rows: Row[], notes: readonly Note[], from: number, upTo: number): number {
  let next = from;
  for (; next < notes.length; next++) {
    const note = notes[next];
    if (note === undefined || note.afterSeq > upTo) break;
    rows.push({ kind: "note", key: note.key, note });
  }
  return next;
}

/** Formatting a date costs more than all the rest: once for each message. */
const days = new WeakMap<Message, string>();
const dayFormat = new Intl.DateTimeFormat(undefined, {
  ...{ weekday: "long", year: "numeric", month: "long", day: "numeric" },
});

function dayOf(message: Message): string {
  const known = days.get(message);
  if (known !== undefined) return known;
  const at = new Date(message.timestamp);
  const label = Number.isNaN(at.getTime()) ? "" : dayFormat.format(at);
  days.set(message, label);
  return label;
}
