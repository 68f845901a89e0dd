// The document `session/session.json`, in the original's schema and with its names, version 1.
// docs/formats/ says it byte by byte.

import { isInstant } from "../core/chat/stamp.ts";
import { ThroughlineError } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { reservedDocumentNames } from "../core/storage/document-store.ts";
import { type ClockReading, reading } from "./boot-clock.ts";
import { DocumentReader, instantOfSeconds } from "./document-reader.ts";
import { readOwnObject } from "./own-fields.ts";

/** The key of the document in its collection: `session/session.json`. */
export const documentKey = "session";

const documentVersion = 1;

export const companionLimits = { conversation: 50, text: 10_000, word: 64, name: 256 } as const;

export interface ConversationMessage {
  readonly role: "USER" | "ASSISTANT";
  readonly text: string;
  /** Milliseconds since 1970; `undefined` when it is not known. */
  readonly at: number | undefined;
}

/** The person who was seen last, kept until another one is. */
export interface PersonSeen {
  readonly name: string;
  readonly seenAt: number | undefined;
}

/** A document as it was read: every field is of its type. Instants are milliseconds since 1970. */
export interface CompanionDocument {
  /** When the document was written; with the boot and the uptime if it was by us. */
  readonly heartbeat: ClockReading | undefined;
  /** For a file that no log of runs stands beside. */
  readonly shutdownClean: boolean;
  readonly runStartedAt: number | undefined;
  /** The id of the run that wrote it: 8 lower-case hexadecimal digits. */
  readonly runId: string | undefined;
  readonly uptimeMs: number;
  /** `undefined`: to be counted from the log of runs. */
  readonly totalRuns: number | undefined;
  /** As it was stored. Its owner checks it. */
  readonly emotions: Readonly<Record<string, unknown>>;
  /** A copy for readers of the original's schema; ours read it when a file of theirs is taken over. */
  readonly conversation: readonly ConversationMessage[];
  readonly sleepState: string;
  readonly person: PersonSeen | undefined;
  /** What the original has no field for, as it was stored; a field that cannot be used is absent. */
  readonly throughline: Readonly<Record<string, unknown>>;
  /** Whether the original wrote it, not we. */
  readonly isOriginal: boolean;
  /** Unknown fields. They are written back. */
  readonly unknown: JsonObject;
}

export interface ReadDocument {
  readonly document: CompanionDocument;
  /** What was missing or of a wrong type and is as by default now; never a value. */
  readonly repaired: readonly string[];
}

const names: readonly string[] = [
  "version",
  "heartbeat",
  "shutdown_clean",
  "session_start",
  "session_id",
  "uptime_seconds",
  "total_sessions",
  "emotions",
  "conversation",
  "sleep_state",
  "last_person_seen",
  "last_person_seen_time",
  "throughline",
  ...reservedDocumentNames,
];

/**
 * Reads a stored document: each field that cannot be used gets its default, and is reported. One
 * damaged field costs no other.
 *
 * @returns `undefined` for what is no document of ours or of the original: not an object, or without
 * the version. Set its bytes aside before anything is written.
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: leave the bytes as they are.
 */
export function readCompanionDocument(value: unknown): ReadDocument | undefined {
  if (!isJsonObject(value)) return undefined;
  const version = Object.hasOwn(value, "version") ? value["version"] : undefined;
  if (typeof version === "number" && version > documentVersion && Number.isFinite(version)) {
    throw new ThroughlineError(
      `the companion document has version ${version}; this program reads ${documentVersion}`,
      { code: "THROUGHLINE_NEWER_FORMAT" },
    );
  }
  if (version !== documentVersion) return undefined;
  const reader = new DocumentReader(value);
  const isOriginal = !Object.hasOwn(value, "throughline");
  const { own: throughline, repaired } = readOwnObject(
    isOriginal ? {} : reader.object("throughline"),
  );
  reader.repaired.push(...repaired);
  const document: CompanionDocument = {
    heartbeat: readHeartbeat(reader, throughline),
    shutdownClean: reader.flag("shutdown_clean", true),
    runStartedAt: reader.seconds("session_start"),
    runId: reader.runId("session_id"),
    uptimeMs: (reader.amount("uptime_seconds") ?? 0) * 1_000,
    totalRuns: reader.count("total_sessions"),
    emotions: reader.object("emotions"),
    conversation: readConversation(reader),
    sleepState: reader.text("sleep_state", companionLimits.word) ?? "awake",
    person: readPerson(reader),
    throughline,
    isOriginal,
    unknown: reader.unknown(names),
  };
  return { document, repaired: reader.repaired };
}

function readHeartbeat(
  reader: DocumentReader,
  throughline: Readonly<Record<string, unknown>>,
): ClockReading | undefined {
  const at = reader.seconds("heartbeat");
  const { heartbeat } = throughline;
  const ours = isJsonObject(heartbeat) ? heartbeat : {};
  // If another writer has replaced the heartbeat since, our part of it is out of date.
  const isOurs = secondsOf(at) === (ours["seconds"] ?? null);
  const told = reading(at, isOurs && ours["boot_id"], isOurs && ours["uptime_ms"]);
  return told.at === undefined && told.bootId === undefined ? undefined : told;
}

function readConversation(reader: DocumentReader): readonly ConversationMessage[] {
  let timeless = 0;
  const conversation = reader.list("conversation", (item): ConversationMessage | undefined => {
    if (!isJsonObject(item) || typeof item["text"] !== "string") return undefined;
    const role = typeof item["role"] === "string" ? item["role"].toUpperCase() : "";
    if (role !== "USER" && role !== "ASSISTANT") return undefined;
    const at = instantOfSeconds(item["timestamp"]);
    if (at === undefined && (item["timestamp"] ?? null) !== null) timeless++;
    return { role, text: item["text"].toWellFormed(), at };
  });
  if (timeless > 0) reader.repaired.push(`times in conversation that cannot be used: ${timeless}`);
  return conversation;
}

function readPerson(reader: DocumentReader): PersonSeen | undefined {
  const name = reader.textOrNull("last_person_seen", companionLimits.name);
  const seenAt = reader.secondsOrNull("last_person_seen_time");
  return name === undefined || name === "" ? undefined : { name, seenAt };
}

/** What goes into a document; see `CompanionDocument` for the units. */
export interface DocumentParts {
  readonly run: {
    readonly runId: string;
    readonly startedAt: ClockReading;
    readonly totalRuns: number;
  };
  /** Now. */
  readonly heartbeat: ClockReading;
  /** Of the run. */
  readonly uptimeMs: number;
  readonly shutdownClean: boolean;
  readonly emotions: JsonObject;
  /** Oldest first; the newest 50 are kept. */
  readonly conversation: readonly ConversationMessage[];
  readonly sleepState: string;
  readonly person: PersonSeen | undefined;
  readonly throughline: JsonObject;
  readonly unknown: JsonObject;
}

/** The value to store. Built only when it is due: it copies what it is given. */
export function companionDocument(parts: DocumentParts): JsonObject {
  const { run, heartbeat, person } = parts;
  const { at, bootId, uptimeMs } = reading(heartbeat.at, heartbeat.bootId, heartbeat.uptimeMs);
  const beat = {
    seconds: secondsOf(at),
    boot_id: bootId,
    uptime_ms: uptimeMs,
  };
  return {
    version: documentVersion,
    heartbeat: secondsOf(at),
    shutdown_clean: parts.shutdownClean,
    session_start: secondsOf(run.startedAt.at),
    session_id: run.runId,
    uptime_seconds: parts.uptimeMs > 0 && parts.uptimeMs < 1e15 ? parts.uptimeMs / 1_000 : 0,
    total_sessions: run.totalRuns,
    emotions: parts.emotions,
    conversation: parts.conversation.slice(-companionLimits.conversation).map(storedMessage),
    sleep_state: parts.sleepState,
    last_person_seen: person?.name ?? null,
    last_person_seen_time: secondsOf(person?.seenAt),
    throughline: { ...parts.throughline, heartbeat: beat },
    ...withoutKnown(parts.unknown),
  };
}

function storedMessage({ role, text, at }: ConversationMessage): JsonObject {
  // A copy beside the chat's log, which has all of it.
  return {
    role,
    text: text.slice(0, companionLimits.text).toWellFormed(),
    timestamp: secondsOf(at),
  };
}

function withoutKnown(unknown: JsonObject): Record<string, Json | undefined> {
  return Object.fromEntries(Object.entries(unknown).filter(([name]) => !names.includes(name)));
}

/** Seconds since 1970 with milliseconds, as the original has them. */
function secondsOf(at: number | undefined): number | null {
  return at !== undefined && isInstant(at) ? Math.round(at) / 1_000 + 0 : null;
}
