// The document `session/session.json`, in the original's schema and with its names, version 1.
// docs/formats/ says it byte by byte.

import { isInstant } from "../core/chat/stamp.ts";
import { ThroughlineError } from "../core/errors.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import {
  flag,
  list,
  nullAsAbsent,
  number,
  type Others,
  object,
  openObject,
  optional,
  orNone,
  Place,
  record,
  type Shape,
  text,
  whole,
  word,
} from "../core/shape.ts";
import { type DocumentStore, reservedDocumentNames } from "../core/storage/document-store.ts";
import { type ClientRun, storedClients } from "./client-runs.ts";
import { type ClockReading, clockReading, reading } from "./clock-reading.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { type SeedEmotions, seedEmotions, storedState } from "./emotion/stored-emotions.ts";
import { gapBetween } from "./gap.ts";
import {
  type InterruptedTurn,
  type RestartReport,
  type StoredDeliveries,
  storedDeliveries,
} from "./restart.ts";
import { isRunId } from "./runs.ts";

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

/** What servers that share the companion tell each other. */
export interface SharedFields {
  /** By process: the number of its newest act that the document has. */
  readonly writers: Readonly<Record<string, number>>;
  /** What the report of the restart says beside how it was judged. */
  readonly report: Pick<RestartReport, "previousRunId" | "interrupted" | "quarantined">;
  /** When each face was announced last, by name. */
  readonly announced: Readonly<Record<string, number>>;
  /** When each chat was forgotten, by the hash of its id. */
  readonly forgot: Readonly<Record<string, number>>;
  /** When a person woke it last, on the clock of its emotions. */
  readonly wokenAt: number;
  /** The emotions' configuration that was put in force while the run was up. */
  readonly configuration: JsonObject | undefined;
}

/** What the original has no field for. */
export interface OwnFields extends Others {
  readonly deliveries: StoredDeliveries | undefined;
  /** The programs with runs of their own. */
  readonly clients: readonly ClientRun[];
  /** The chat of each message of the conversation, in its order. */
  readonly conversationChats: readonly (string | undefined)[];
  readonly emotions: EmotionState | undefined;
  /** What the clocks said when the emotions were saved. */
  readonly saved: ClockReading | undefined;
  /** Absent where one process alone has the companion. */
  readonly shared: SharedFields | undefined;
}

/** A document in memory. Instants are milliseconds since 1970. */
export interface CompanionDocument extends Others {
  /** When the document was written; with the boot and the uptime if it was by us. */
  readonly heartbeat: ClockReading | undefined;
  /** For a file that no log of runs stands beside. */
  readonly shutdownClean: boolean;
  /** When the run that wrote it began. */
  readonly startedAt: number | undefined;
  /** The id of that run. */
  readonly runId: string | undefined;
  /** Of that run. */
  readonly uptimeMs: number;
  /** `undefined`: to be counted from the log of runs. */
  readonly totalRuns: number | undefined;
  /** The original's part. */
  readonly emotions: SeedEmotions | undefined;
  /** A copy for readers of the original's schema; ours read it when a file of theirs is taken over. */
  readonly conversation: readonly ConversationMessage[];
  readonly sleepState: string;
  readonly person: PersonSeen | undefined;
  readonly own: OwnFields;
  /** Whether the original wrote it, not we. */
  readonly isOriginal: boolean;
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

const message = object<ConversationMessage>(
  { role: word(["USER", "ASSISTANT"]), text: text(), at: ["timestamp", time] },
  "left out",
);

const count = whole(0, Number.MAX_SAFE_INTEGER);

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

/** The run that the seed's fields tell of. */
interface WrittenRun
  extends Pick<
    CompanionDocument,
    "shutdownClean" | "startedAt" | "runId" | "uptimeMs" | "totalRuns"
  > {
  readonly heartbeat: number | undefined;
}

const runFields = {
  heartbeat: time,
  shutdownClean: ["shutdown_clean", flag(true)],
  startedAt: ["session_start", time],
  runId: ["session_id", optional(text(companionLimits.word))],
  uptimeMs: ["uptime_seconds", nullAsAbsent(number(-1e12, 1e12, 0, 1_000))],
  totalRuns: ["total_sessions", optional(count)],
} as const;

const instant = whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const anObject: Shape<JsonObject> = {
  read(value, at) {
    if (isJsonObject(value)) return value;
    at.says("must be an object");
    return {};
  },
  write: (value) => value,
};

const sharedFields = {
  writers: record(count),
  report: object<SharedFields["report"]>(
    {
      previousRunId: ["previous_run_id", optional(text(companionLimits.word))],
      interrupted: list(
        object<InterruptedTurn>({ chatId: ["chat", text()], messageId: ["message", text()] }),
      ),
      quarantined: count,
    },
    "left out",
  ),
  announced: record(instant),
  forgot: record(instant),
  wokenAt: ["woken", instant],
  configuration: optional(anObject),
} as const;

interface WrittenOwn extends OwnFields {
  /** The server's run, where the seed's fields tell of the only client's. */
  readonly server: WrittenRun | undefined;
  readonly heartbeat: OwnHeartbeat | undefined;
}

const ownFields = openObject<WrittenOwn>(
  {
    deliveries: optional(storedDeliveries),
    clients: storedClients,
    server: optional(object<WrittenRun>(runFields, "left out")),
    conversationChats: ["conversation_chats", list(orNone(text()))],
    emotions: optional(storedState),
    saved: optional(clockReading),
    shared: optional(object<SharedFields>(sharedFields, "left out")),
    heartbeat: optional(heartbeat),
  },
  { keys: ownKeys },
);

/** What is stored, field by field. */
interface Written extends Omit<CompanionDocument, "heartbeat" | "person" | "own" | "isOriginal"> {
  readonly version: number;
  readonly heartbeat: number | undefined;
  readonly person: string | undefined;
  readonly seenAt: number | undefined;
  readonly own: WrittenOwn | undefined;
}

const written = openObject<Written>(
  {
    version: whole(documentVersion, documentVersion),
    ...runFields,
    emotions: optional(seedEmotions),
    conversation: list(message),
    sleepState: ["sleep_state", text(companionLimits.word, "awake")],
    person: ["last_person_seen", orNone(text(companionLimits.name))],
    seenAt: ["last_person_seen_time", time],
    own: ["throughline", optional(ownFields)],
  },
  { reserved: reservedDocumentNames },
);

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

function fromWritten(found: Written): CompanionDocument {
  const { version: _, person: name, seenAt, own, ...rest } = found;
  // If another writer has replaced the fields of the client since, they tell of the run that counts.
  const isOurs = found.heartbeat === clientRun(own?.clients)?.heartbeat;
  const run = { ...found, ...(isOurs && own?.server) };
  const { shutdownClean, startedAt, runId, uptimeMs, totalRuns } = run;
  return {
    ...rest,
    shutdownClean,
    startedAt,
    uptimeMs,
    totalRuns,
    heartbeat: heartbeatOf(run),
    runId: isRunId(runId) ? runId : undefined,
    person: name === undefined || name === "" ? undefined : { name, seenAt },
    own: own ?? ownFields.read({}, new Place()),
    isOriginal: own === undefined,
  };
}

/** A document of ours that tells nothing. */
export const emptyDocument = fromWritten(
  written.read({ version: 1, shutdown_clean: false, throughline: {} }, new Place()),
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

function heartbeatOf({ heartbeat: at, own }: Written): ClockReading | undefined {
  const { seconds, clocks } = own?.heartbeat ?? {};
  // If another writer has replaced the heartbeat since, our part of it is out of date.
  const isOurs = seconds === at;
  const told = reading(at, isOurs && clocks?.bootId, isOurs && clocks?.uptimeMs);
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
  const { heartbeat, person, own, isOriginal, ...rest } = document;
  const { shutdownClean, startedAt, runId, totalRuns } = document;
  const clocks = reading(heartbeat?.at, heartbeat?.bootId, heartbeat?.uptimeMs);
  const conversation = rest.conversation.slice(-companionLimits.conversation);
  const uptimeMs = document.uptimeMs > 0 && document.uptimeMs < 1e15 ? document.uptimeMs : 0;
  const server = { heartbeat: clocks.at, shutdownClean, startedAt, runId, uptimeMs, totalRuns };
  const client = clientRun(own.clients);
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
    own: isOriginal
      ? undefined
      : { ...own, server: client && server, heartbeat: { seconds: clocks.at, clocks } },
  }) as JsonObject;
}
