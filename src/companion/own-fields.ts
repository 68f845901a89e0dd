import { isJsonObject, type JsonObject } from "../core/json.ts";
import { reading, readReading, storedReading } from "./boot-clock.ts";
import type { CompanionDocument } from "./companion-document.ts";
import { isWholeDeliveries } from "./deliveries.ts";
import { DocumentReader, isStorable } from "./document-reader.ts";

type Own = Readonly<Record<string, unknown>>;

interface Field {
  /** What it must be for anybody to look into it: else it is left out. */
  readonly isUsable: (value: unknown) => boolean;
  /** What it is when nothing in it is damaged. */
  readonly isWhole?: (value: unknown) => boolean;
  /** Leaves out what is damaged in it, where its owner would write that again. */
  readonly cleaned?: (value: unknown) => unknown;
}

const fields: Readonly<Record<string, Field>> = {
  deliveries: { isUsable: isJsonObject, isWhole: isWholeDeliveries },
  injections: {
    isUsable: Array.isArray,
    isWhole: (value) => Array.isArray(value) && value.every(isInjection),
    cleaned: (value) => (Array.isArray(value) ? value.filter(isInjection) : []),
  },
  conversation_chats: {
    isUsable: Array.isArray,
    isWhole: (value) => Array.isArray(value) && value.every(isChat),
  },
  acts: { isUsable: isJsonObject },
  // Who restores them tells what was damaged.
  emotions: { isUsable: isJsonObject },
  saved: { isUsable: (value) => readReading(value) !== undefined, isWhole: isWholeReading },
  heartbeat: {
    isUsable: isJsonObject,
    isWhole: (value) => isJsonObject(value) && isWholeReading({ ...value, seconds: undefined }),
  },
};
const ours = Object.keys(fields);

function isWholeReading(value: unknown): boolean {
  const read =
    readReading(value) ?? reading(undefined, own(value, "boot_id"), own(value, "uptime_ms"));
  return JSON.stringify(storedReading(read)) === JSON.stringify(value);
}

const own = (value: unknown, name: string) => (isJsonObject(value) ? value[name] : undefined);
const isText = (value: unknown) => typeof value === "string";
const isChat = (value: unknown) => value === null || isText(value);
const isInjection = (value: unknown) =>
  isJsonObject(value) &&
  ["id", "text", "queuedAt"].every((name) => isText(value[name])) &&
  isStorable(value);

/**
 * The object that we have to ourselves, without what cannot be used or written again.
 *
 * @returns also what is damaged or was left out, never a value.
 */
export function readOwnObject(stored: Own): {
  readonly own: Own;
  readonly repaired: readonly string[];
} {
  const reader = new DocumentReader(stored as JsonObject);
  const foreign = reader.unknown(ours);
  const repaired = [...reader.repaired];
  const usable: [string, unknown][] = [];
  for (const [name, { isUsable, isWhole, cleaned }] of Object.entries(fields)) {
    if (!Object.hasOwn(stored, name)) continue;
    const value = stored[name];
    if (!isUsable(value)) repaired.push(`${name} cannot be used: left out`);
    else {
      usable.push([name, cleaned === undefined ? value : cleaned(value)]);
      if (isWhole?.(value) === false) repaired.push(`${name} is damaged: what can be used is`);
    }
  }
  const own = { ...Object.fromEntries(usable), ...foreign };
  return { own, repaired: repaired.map((said) => `throughline: ${said}`) };
}

/** A field of the object that we have to ourselves in the document, as it was stored. */
export function ownField(document: CompanionDocument | undefined, name: string): unknown {
  const own: unknown = document?.throughline;
  return isJsonObject(own) ? own[name] : undefined;
}

/** What this version does not know of that object: it is written again. */
export function foreignFields(document: CompanionDocument | undefined): JsonObject {
  const entries = Object.entries(document?.throughline ?? {});
  return Object.fromEntries(entries.filter(([name]) => !ours.includes(name))) as JsonObject;
}
