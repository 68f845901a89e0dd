// The document `session/session.json`, in the original's schema and with its names, version 1.
// docs/formats/ says it byte by byte.

import { isInstant } from "../core/chat/stamp.ts";
import { hashOf } from "../core/chat/tombstones.ts";
import { ThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import {
  flag,
  list,
  nullAsAbsent,
  number,
  object,
  openObject,
  optional,
  orNone,
  Place,
  type Read,
  record,
  type Shape,
  text,
  whole,
  word,
} from "../core/shape.ts";
import { type DocumentStore, reservedDocumentNames } from "../core/storage/document-store.ts";
import { type ClientRun, storedClients } from "./client-runs.ts";
import { seedEmotions, storedState } from "./emotion/stored-emotions.ts";
import { type ClockReading, clockReading, gapBetween, reading } from "./gap.ts";
import { storedReport } from "./restart.ts";
import { isRunId } from "./runs.ts";

/** The key of the document in its collection: `session/session.json`. */
export const documentKey = "session";

const documentVersion = 1;

export const companionLimits = { conversation: 50, text: 10_000, word: 64, name: 256 } as const;

export type SleepState = "awake" | "asleep";

/** The person who was seen last, kept until another one is. */
export interface PersonSeen {
  readonly name: string;
  readonly seenAt: number | undefined;
}

/** Milliseconds since 1970, written in seconds. `null`, the original's 0 and what is before: not known. */
const time: Shape<number | undefined> = {
  read(value, at) {
    if (value === undefined || value === null) return undefined;
    if (typeof value === "number" && value <= 0) return undefined;
    const found = typeof value === "number" ? Math.round(value * 1_000) : Number.NaN;
    if (isInstant(found)) return found;
    at.says("must be a time in seconds");
    return undefined;
  },
  write: (at) => (at !== undefined && isInstant(at) ? Math.round(at) / 1_000 + 0 : null),
};

const message = object(
  {
    role: word(["USER", "ASSISTANT"] as const),
    text: text(),
    /** Milliseconds since 1970; `undefined` when it is not known. */
    at: ["timestamp", time],
  },
  "left out",
);

/** A message of the copy in the document, which readers of the original's schema look at. */
type SaidInChat = Read<typeof message> & {
  /** `undefined`: a file of the original, which knows one conversation. */
  readonly chatId: string | undefined;
};

const count = whole(0, Number.MAX_SAFE_INTEGER);
const instant = whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

const shared = object(
  {
    /** By process: the number of its newest act that the document has. */
    writers: record(count),
    /** When each server that has not left wrote last, by process, on its own clock. */
    alive: record(instant),
    report: storedReport,
    /** When each face was announced last, by name, the oldest first. */
    announced: record(instant),
    /** When each chat was forgotten, by the hash of its id, the oldest first. */
    forgot: record(instant),
    /** When a person woke it last, or kept it awake, on the clock of its emotions. */
    wokenAt: ["woken", instant],
  },
  "left out",
);

/** What servers that share the companion tell each other. */
export type SharedFields = Read<typeof shared>;

const runFields = {
  heartbeat: time,
  shutdownClean: ["shutdown_clean", flag(true)],
  startedAt: ["session_start", time],
  runId: ["session_id", optional(text(companionLimits.word))],
  uptimeMs: ["uptime_seconds", nullAsAbsent(number(-1e12, 1e12, 0, 1_000))],
  totalRuns: ["total_sessions", optional(count)],
} as const;

const writtenRun = object(runFields, "left out");

type WrittenRun = Read<typeof writtenRun>;

/** The clocks at the last sign of life; `seconds` repeats the heartbeat of the document. */
interface OwnHeartbeat {
  readonly seconds: number | undefined;
  readonly clocks: ClockReading;
}

const heartbeat: Shape<OwnHeartbeat> = {
  read: (value, at) => ({
    seconds: isJsonObject(value) ? time.read(value["seconds"], at.in("seconds")) : undefined,
    clocks: clockReading.read(value, at),
  }),
  write: ({ seconds, clocks: { bootId, uptimeMs } }) => {
    return { seconds: time.write(seconds), boot_id: bootId, uptime_ms: uptimeMs };
  },
};

/** The most keys and items of fields that a later version has: less than the document takes. */
const ownKeys = 1_000;

/** What the original has no field for. */
const ownFields = openObject(
  {
    told: optional(count),
    clients: storedClients,
    /** The server's run, where the seed's fields tell of the only client's. */
    server: optional(writtenRun),
    conversationChats: ["conversation_chats", list(orNone(text()))],
    emotions: optional(storedState),
    saved: optional(clockReading),
    shared: optional(shared),
    heartbeat: optional(heartbeat),
  },
  { keys: ownKeys },
);

const written = openObject(
  {
    version: whole(documentVersion, documentVersion),
    ...runFields,
    seed: ["emotions", optional(seedEmotions)],
    conversation: list(message),
    sleep: ["sleep_state", text(companionLimits.word, "awake")],
    person: ["last_person_seen", orNone(text(companionLimits.name))],
    seenAt: ["last_person_seen_time", time],
    own: ["throughline", optional(ownFields)],
  },
  { reserved: reservedDocumentNames },
);

/** A document in memory. Instants are milliseconds since 1970. */
export type CompanionDocument = ReturnType<typeof fromWritten>;

/** A document, or what is wrong with it: a sentence that quotes no value. */
type ReadDocument = { readonly document: CompanionDocument } | { readonly problem: string };

/**
 * Reads a stored document. What is missing has its default; a field that is not what it must be makes the
 * whole of it damaged.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: leave the bytes as they are.
 */
export function readCompanionDocument(value: unknown): ReadDocument {
  const version =
    isJsonObject(value) && Object.hasOwn(value, "version") ? value["version"] : undefined;
  if (typeof version === "number" && version > documentVersion && Number.isFinite(version)) {
    throw new ThroughlineError(
      `the companion document has version ${version}; this program reads ${documentVersion}`,
      { code: "THROUGHLINE_NEWER_FORMAT" },
    );
  }
  const top = new Place();
  const found = written.read(value, top);
  const [problem] = top.problems;
  // Deeper keys may be the ids of chats.
  if (problem) return { problem: `${problem.path.slice(0, 2).join(".") || "it"} ${problem.says}` };
  return { document: fromWritten(found) };
}

function fromWritten(found: Read<typeof written>) {
  const { person: name, seenAt, own = ownFields.read({}, new Place()), seed, sleep } = found;
  const { told, conversationChats: chats, clients, emotions, saved, shared, others } = own;
  // If another writer has replaced the fields of the client since, they tell of the run that counts.
  const isOurs = found.heartbeat === clientRun(clients)?.heartbeat;
  const { heartbeat: at, runId, ...run } = (isOurs && own.server) || found;
  // Where an item was taken out by hand, chats can no longer be matched to messages.
  const isWhole = chats.length === found.conversation.length;
  const person: PersonSeen | undefined = name ? { name, seenAt } : undefined;
  return {
    /** For a file that no log of runs stands beside. */
    shutdownClean: run.shutdownClean,
    /** When the run that wrote it began. */
    startedAt: run.startedAt,
    uptimeMs: run.uptimeMs,
    /** `undefined`: to be counted from the log of runs. */
    totalRuns: run.totalRuns,
    runId: isRunId(runId) ? runId : undefined,
    /** When the document was written; with the boot and the uptime if it was by us. */
    heartbeat: heartbeatOf(at, own.heartbeat),
    seed,
    /** The newest 50 messages over all chats, whose logs have all of them. */
    conversation: found.conversation.map((said, i): SaidInChat => {
      return { ...said, chatId: isWhole ? chats[i] : undefined };
    }),
    sleep: sleep === "asleep" ? ("asleep" as SleepState) : "awake",
    person,
    /** The newest run of which a model of somebody's own was told, for all chats. */
    told,
    clients,
    emotions,
    /** What the clocks said when the emotions were saved. */
    saved,
    /** Absent where one process alone has the companion. */
    shared,
    /** Fields of ours that a later version has. */
    ownOthers: others,
    /** Whether the original wrote it, not we. */
    isOriginal: found.own === undefined,
    others: found.others,
  };
}

/** A document of ours that tells nothing. */
export const emptyDocument = fromWritten(
  written.read({ version: documentVersion, throughline: {} }, new Place()),
);

/** The run of the only client that was ever named. */
function clientRun(clients: readonly ClientRun[] = []): WrittenRun | undefined {
  const [run, another] = clients;
  if (run === undefined || another !== undefined) return undefined;
  return {
    heartbeat: run.heartbeat.at,
    shutdownClean: run.isEnded,
    startedAt: run.startedAt.at,
    runId: run.runId,
    uptimeMs: gapBetween(run.startedAt, run.heartbeat).gapMs ?? 0,
    totalRuns: run.restart.totalRuns,
  };
}

function heartbeatOf(at: number | undefined, own?: OwnHeartbeat): ClockReading | undefined {
  // If another writer has replaced the heartbeat since, our part of it is out of date.
  const { bootId, uptimeMs } = (own?.seconds === at && own?.clocks) || {};
  const told = reading(at, bootId, uptimeMs);
  return told.at === undefined && told.bootId === undefined ? undefined : told;
}

/** The document in its store: what was read of it, and what had to be set aside. */
export interface FoundDocument {
  /** `undefined`: there is none that can be used. */
  readonly document: CompanionDocument | undefined;
  /** 0: there is none. */
  readonly revision: number;
  /** What was wrong with each copy that was set aside now. */
  readonly damage: readonly string[];
}

/**
 * Reads the document. A copy that is damaged is set aside, and the one before it counts.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`; the codes of the storage.
 */
export async function findDocument(documents: DocumentStore): Promise<FoundDocument> {
  const damage: string[] = [];
  const read: CompanionDocument[] = [];
  const stored = await documents.read(documentKey, (value) => {
    const found = readCompanionDocument(value);
    if ("document" in found) read.push(found.document);
    else damage.push(found.problem);
    return "problem" in found ? found.problem : undefined;
  });
  const document = stored === undefined ? undefined : read.at(-1);
  return { document, revision: stored?.revision ?? 0, damage };
}

/** The value to store: of the conversation, the newest 50. */
export function companionDocument(document: CompanionDocument): JsonObject {
  const { person, isOriginal, ownOthers, ...rest } = document;
  const { at, bootId, uptimeMs: upMs } = document.heartbeat ?? {};
  const clocks = reading(at, bootId, upMs);
  const conversation = document.conversation.slice(-companionLimits.conversation);
  const uptimeMs = document.uptimeMs > 0 && document.uptimeMs < 1e15 ? document.uptimeMs : 0;
  const server: WrittenRun = { ...rest, heartbeat: clocks.at, uptimeMs };
  const client = clientRun(document.clients);
  const own: Read<typeof ownFields> = {
    ...rest,
    conversationChats: conversation.map(({ chatId }) => chatId),
    server: client && server,
    heartbeat: { seconds: clocks.at, clocks },
    others: ownOthers,
  };
  return written.write({
    ...rest,
    ...(client ?? server),
    version: documentVersion,
    // A copy beside the chat's log, which has all of it.
    conversation: conversation.map(({ role, text, at }) => {
      return { role, text: text.slice(0, companionLimits.text).toWellFormed(), at };
    }),
    person: person?.name,
    seenAt: person?.seenAt,
    own: isOriginal ? undefined : own,
  }) as JsonObject;
}

/** Forgotten chats whose words are refused when another server has them still. */
const maxForgot = 100;

/**
 * Removes what a document has of a chat, and notes it for servers that still have words of it. A message whose chat
 * is not known goes too: it may be of this one.
 */
export function withoutChat<T extends CompanionDocument>(from: T, hash: string, at: number): T {
  const { conversation, clients, shared } = from;
  const isOther = (chatId: string) => hashOf(chatId) !== hash;
  const interrupted = shared?.report.interrupted.filter(({ chatId }) => isOther(chatId)) ?? [];
  return {
    ...from,
    conversation: conversation.filter(({ chatId }) => chatId !== undefined && isOther(chatId)),
    clients: clients.map((run) => {
      const { chats, chatsBefore } = run;
      return { ...run, chats: chats.filter(isOther), chatsBefore: chatsBefore.filter(isOther) };
    }),
    shared: shared && {
      ...shared,
      report: { ...shared.report, interrupted },
      forgot: newest(shared.forgot, hash, at, maxForgot),
    },
  };
}

/** Instants by name with one more: the newest come last, and of more than `most` the oldest go. */
export function newest(
  of: Readonly<Record<string, number>>,
  name: string,
  at: number,
  most: number,
): Readonly<Record<string, number>> {
  const others = Object.entries(of).filter(([known]) => known !== name);
  // A clock of somebody's own may tell parts of a millisecond.
  return Object.fromEntries([...others, [name, Math.round(at)] as const].slice(-most));
}
