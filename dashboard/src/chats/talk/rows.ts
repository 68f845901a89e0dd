// The lines of a transcript: what was said, thought and called, and the days between.
import { useMemo } from "react";
import type { Message } from "../../api/openapi-types.ts";
import { type FeedState, isShown, type Live, type Waiting } from "./feed-state.ts";

export type Row =
  | { readonly kind: "day"; readonly key: string; readonly label: string }
  | {
      readonly kind: "message";
      readonly key: string;
      readonly message: Message;
      readonly calls: readonly Call[];
    }
  /** A tool's result whose call is not loaded. */
  | { readonly kind: "result"; readonly key: string; readonly message: Message }
  | { readonly kind: "live"; readonly key: string; readonly live: Live }
  | { readonly kind: "waiting"; readonly key: string; readonly waiting: Waiting };

/** The rows of a feed, oldest first. Stored messages are not processed again for every new word. */
export function useRows(state: FeedState): readonly Row[] {
  const { messages, live, waiting, status } = state;
  const said = useMemo(() => rowsOf(messages), [messages]);
  return useMemo(() => {
    const isStored = live !== undefined && said.some(({ key }) => key === answerKey(live.turnId));
    const coming: Row[] =
      live === undefined || isStored ? [] : [{ kind: "live", key: answerKey(live.turnId), live }];
    // Only the loaded chat shows whether that was stored.
    const isKnown = ({ state }: Waiting) => state !== "unsure" || status !== "loading";
    const rest = waiting
      .filter(isKnown)
      .map((each): Row => ({ kind: "waiting", key: each.key, waiting: each }));
    return [...said, ...coming, ...rest];
  }, [said, live, waiting, status]);
}

/** The answer keeps its row when it is stored: nothing jumps. */
function answerKey(turnId: string): string {
  return `${turnId}:answer`;
}

/** And when it is regenerated, or another one is chosen: what has the focus keeps it. */
function keyOf({ id, turn, variants }: Message): string {
  if (turn === undefined) return id;
  const key = answerKey(turn);
  return variants !== undefined || id.startsWith(`${key}:`) ? key : id;
}

/** Whether a row is that of a message. */
export function isOf(row: Row, messageId: string | undefined): boolean {
  return row.kind === "message" ? row.message.id === messageId : row.key === messageId;
}

export function rowsOf(messages: readonly Message[]): Row[] {
  const rows: Row[] = [];
  let day = "";
  let open: { readonly turn: string | undefined; readonly call: Call }[] = [];
  for (const message of messages) {
    const isResult = message.role === "tool" && message.hidden !== true;
    if (!isShown(message) && !isResult) continue;
    if (message.role === "user") open = [];
    if (isResult) {
      const { turn, tool_call_id: id } = message;
      const at = open.findIndex((each) => each.turn === turn && each.call.id === id);
      const [asked] = at < 0 ? [] : open.splice(at, 1);
      if (asked === undefined) rows.push({ kind: "result", key: message.id, message });
      else asked.call.result = message;
      continue;
    }
    const label = dayOf(message);
    if (label !== "" && label !== day) {
      rows.push({ kind: "day", key: `day ${label}`, label });
      day = label;
    }
    const calls = callsOf(message);
    for (const call of calls) open.push({ turn: message.turn, call });
    rows.push({ kind: "message", key: keyOf(message), message, calls });
  }
  return rows;
}

/** Formatting a date costs more than all the rest: once for each message. */
const days = new WeakMap<Message, string>();
const dayFormat = new Intl.DateTimeFormat("en-GB", {
  weekday: "long",
  year: "numeric",
  month: "long",
  day: "numeric",
});

function dayOf(message: Message): string {
  const known = days.get(message);
  if (known !== undefined) return known;
  const at = new Date(message.timestamp);
  const label = Number.isNaN(at.getTime()) ? "" : dayFormat.format(at);
  days.set(message, label);
  return label;
}

/** A tool that a model called, and what the tool answered. */
export interface Call {
  readonly id: string | undefined;
  readonly name: string;
  /** As JSON, as the model wrote them. */
  readonly args: string;
  /** `undefined`: there is none, or not yet. */
  result: Message | undefined;
}

/** One value for all messages without calls, so that their rows stay as they are. */
const none: readonly Call[] = [];

/** The calls of a message. Imported ones may have the form of any provider. */
function callsOf({ tool_calls: calls = [] }: Message): readonly Call[] {
  if (calls.length === 0) return none;
  return calls.map((each) => {
    const { id, function: named, ...own } = fieldsOf(each);
    const { name, arguments: args = own["input"] } = { ...own, ...fieldsOf(named) };
    return {
      id: typeof id === "string" ? id : undefined,
      name: typeof name === "string" ? name : "a tool",
      args: typeof args === "string" ? args : (JSON.stringify(args) ?? ""),
      result: undefined,
    };
  });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
