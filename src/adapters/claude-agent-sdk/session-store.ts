import { isoTime } from "../../core/clock.ts";
import { errorName, invalid, isThroughlineError } from "../../core/errors.ts";
import type { NewId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import { KeyedMutex } from "../../core/mutex.ts";
import { aFunction, aThroughline, checkArgument } from "../../core/options.ts";
import { sha256 } from "../../core/sha256.ts";
import { appendGroups, prepareHead } from "../../core/storage/batch.ts";
import { claudeLogs, ownerLabel } from "../../core/storage/framework-logs.ts";
import { keepValue, keptValue, partGroups } from "../../core/storage/kept-value.ts";
import {
  type LogHead,
  type LogRecord,
  type LogRow,
  type LogStore,
  rows,
  update,
} from "../../core/storage/log-store.ts";
import type { Throughline } from "../../core/throughline.ts";

/** Which transcript: of a session, or with `subpath` of one of its subagents. As the SDK declares it. */
export interface SessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  readonly subpath?: string;
}

/** One line of a transcript. The store reads its `uuid` and nothing else. */
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** What a list of sessions shows of one, in the SDK's own form. */
export interface SessionSummaryEntry {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  data: Record<string, unknown>;
}

export interface ThroughlineSessionStoreOptions {
  /** `foldSessionSummary` of the SDK. It is called with entries that were not stored before. */
  readonly foldSessionSummary: (
    previous: SessionSummaryEntry | undefined,
    key: SessionKey,
    entries: SessionStoreEntry[],
    options?: { mtime?: number },
  ) => SessionSummaryEntry;
}

/**
 * Keeps the transcripts of the Claude Agent SDK: its `SessionStore`, for `query({ options: { sessionStore } })`.
 *
 * Several stores and processes may write one session. Errors of the storage pass through, and the call can be
 * repeated. Arguments of the wrong kind are `THROUGHLINE_INVALID`: an id or `subpath` that is empty or no text, an entry that
 * is no object.
 */
export class ThroughlineSessionStore {
  readonly #logs: LogStore;
  readonly #ports: Throughline["ports"];
  readonly #fold: ThroughlineSessionStoreOptions["foldSessionSummary"];
  /** Calls for one transcript are done in the order in which they were made. */
  readonly #calls = new KeyedMutex();

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: without `foldSessionSummary`, which is of the SDK. */
  constructor(
    throughline: Pick<Throughline, "storage" | "ports">,
    options: ThroughlineSessionStoreOptions,
  ) {
    checkArgument(throughline, "throughline", aThroughline);
    checkArgument(options?.foldSessionSummary, "foldSessionSummary", aFunction);
    const { storage, ports } = throughline;
    const { foldSessionSummary } = options;
    this.#logs = storage.logs(claudeLogs.collection, claudeLogs.projection);
    this.#ports = ports;
    this.#fold = foldSessionSummary;
  }

  /**
   * Adds entries to a transcript, in their order. An entry whose `uuid` is there already is passed over, also if
   * its content differs; one without `uuid` is always added. When this resolves, all of them have survived what
   * the storage's `durability` names. A crash or a rejection leaves the first of them, and a repeat adds the rest.
   *
   * @throws ThroughlineError `THROUGHLINE_TOO_LARGE`: an entry of more than 128 Mi characters of JSON.
   */
  async append(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const place = placeOf(key);
    if (!Array.isArray(entries) || !entries.every(isObject)) {
      throw invalid("entries must be an array of objects");
    }
    await this.#calls.run(place.logKey, async () => {
      const kept = entries.map((entry) => keepEntry(entry, this.#ports.newId));
      const ids = new Set<string>();
      const first = kept.filter(({ record: { id } }) => !ids.has(id) && ids.add(id));
      for (const some of appendGroups(first, ({ record }) => record)) {
        await this.#store(place, some);
      }
    });
  }

  /** Every entry of a transcript, equal to what was added, in that order. `null`: it was never written. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const { logKey } = placeOf(key);
    const entries: SessionStoreEntry[] = [];
    for await (const record of this.#logs.read(logKey)) {
      const { value, text, parts } = record;
      if (value === undefined && text === undefined && parts === undefined) continue;
      const kept = await keptValue(this.#logs, logKey, record);
      entries.push((typeof kept === "string" ? JSON.parse(kept) : kept) as SessionStoreEntry);
    }
    return entries.length === 0 ? null : entries;
  }

  /** The sessions of a project, the one that was written last first; `mtime` is in milliseconds since 1970. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const rows = await this.#rows(projectLabel(text(projectKey, "projectKey")));
    return rows.map(({ head }) => ({
      sessionId: String(head["session_id"]),
      mtime: mtimeOf(head),
    }));
  }

  /** What the SDK shows of each session of a project. One whose summary cannot be kept is left out: the SDK reads it. */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const rows = await this.#rows(projectLabel(text(projectKey, "projectKey")));
    return rows.flatMap(({ head }) => summaryIn(head) ?? []);
  }

  /** The subpaths of a session. */
  async listSubkeys(key: Pick<SessionKey, "projectKey" | "sessionId">): Promise<string[]> {
    const main = { projectKey: key?.projectKey, sessionId: key?.sessionId };
    const rows = await this.#rows(sessionLabel(placeOf(main).logKey));
    return rows.map(({ head }) => String(head["subpath"]));
  }

  /**
   * Removes a transcript; that of a session with all of its subpaths, which go first, so that after a rejection
   * the same call removes the rest. The bytes are gone when this resolves.
   */
  async delete(key: SessionKey): Promise<void> {
    const { logKey } = placeOf(key);
    const remove = (each: string) => this.#calls.run(each, () => this.#logs.delete(each));
    if (key.subpath === undefined) {
      for await (const row of rows(this.#logs, { label: sessionLabel(logKey) }))
        await remove(row.key);
    }
    await remove(logKey);
  }

  /** Those in which something was stored. */
  async #rows(label: string): Promise<LogRow[]> {
    const found = await Array.fromAsync(rows(this.#logs, { label }));
    return found.filter(({ head }) => "updated_at" in head);
  }

  /** Another process may write the transcript too: then what is new is found out again. */
  async #store({ key, logKey, head: atFirst }: Place, entries: readonly KeptEntry[]) {
    const isBehind = (error: unknown) =>
      isThroughlineError(error, "THROUGHLINE_CONFLICT", "THROUGHLINE_ID_CONFLICT");
    const ids = entries.flatMap(({ record, parts }) => [record, ...parts]).map(({ id }) => id);
    await update(async () => {
      const tail = await this.#logs.tail(logKey, 0);
      const found = await this.#logs.findAll(logKey, ids);
      const fresh = entries.filter(({ record }) => !found.has(record.id));
      if (fresh.length === 0) return;
      const parts = fresh.flatMap((entry) => entry.parts).filter(({ id }) => !found.has(id));
      let { seq = 0, head = atFirst } = tail ?? {};
      // The labels come first: forgetting the session also reaches parts that a crash left.
      const first = parts.length > 0 && seq === 0 ? [[opening]] : [];
      for (const group of [...first, ...partGroups(parts)]) {
        seq = await this.#logs.append(logKey, group, { expectedSeq: seq, head });
      }
      const records = fresh.map(({ record }) => record);
      const said = fresh.map(({ entry }) => entry);
      head = this.#headAfter(key, head, said);
      await this.#logs.append(logKey, records, { expectedSeq: seq, head });
    }, isBehind);
  }

  #headAfter(key: SessionKey, before: LogHead, entries: SessionStoreEntry[]): LogHead {
    // The clock may have been set back, or be that of another machine.
    const mtime = Math.max(Math.floor(this.#ports.clock.now()), mtimeOf(before));
    const head = { ...before, updated_at: isoTime(mtime) };
    if (key.subpath !== undefined || before["summary"] === null) return head;
    let data: unknown;
    try {
      ({ data } = this.#fold(summaryIn(before), key, entries, { mtime }));
    } catch (error) {
      this.#ports.logger.warn({ error: errorName(error) }, "no summary could be made of a session");
    }
    return withSummary(head, data);
  }
}

/** Where a transcript is stored. */
interface Place {
  readonly key: SessionKey;
  readonly logKey: string;
  /** The head before anything is stored. */
  readonly head: LogHead;
}

function placeOf(key: SessionKey): Place {
  const projectKey = text(key?.projectKey, "projectKey");
  const sessionId = text(key.sessionId, "sessionId");
  const named = { project_key: projectKey, session_id: sessionId };
  const mainKey = `${part(sessionId)}/${part(projectKey)}`;
  if (key.subpath === undefined) {
    const labels = [ownerLabel(sessionId), projectLabel(projectKey)];
    return { key: { projectKey, sessionId }, logKey: mainKey, head: { ...named, labels } };
  }
  const subpath = text(key.subpath, "subpath");
  const labels = [ownerLabel(sessionId), sessionLabel(mainKey)];
  return {
    key: { projectKey, sessionId, subpath },
    logKey: `${mainKey}/${subpath}`,
    head: { ...named, subpath, labels },
  };
}

function text(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${name} must be a text that is not empty`);
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** So that no two transcripts have one key: only the subpath has slashes. */
const part = (value: string) => value.replace(/[%/]/g, encodeURIComponent);

const projectLabel = (projectKey: string) => `project:${projectKey}`;
const sessionLabel = (mainKey: string) => `session:${mainKey}`;

/** The first record of a log that begins with parts. */
const opening: LogRecord = { id: "session", _type: "metadata", kind: "session" };

interface KeptEntry {
  readonly entry: SessionStoreEntry;
  readonly record: LogRecord;
  /** Records that must be stored before it. */
  readonly parts: readonly LogRecord[];
}

function keepEntry(entry: SessionStoreEntry, newId: NewId): KeptEntry {
  const id = idOf(entry?.uuid) ?? `entry:${newId()}`;
  const { fields, parts } = kept(id, entry);
  return { entry, record: { id, ...fields }, parts };
}

/** What is not JSON, such as a Date, is kept as its JSON text: the SDK's own file has nothing else either. */
function kept(id: string, entry: SessionStoreEntry): ReturnType<typeof keepValue> {
  try {
    return keepValue(id, entry, "an entry");
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return keepValue(id, JSON.stringify(entry), "an entry");
  }
}

/** The id of the record of an entry with a `uuid`. Any text may be one; what is no part of an id is hashed. */
function idOf(uuid: unknown): string | undefined {
  if (typeof uuid !== "string" || uuid === "") return undefined;
  return `uuid:${/^[\w-]{1,128}$/.test(uuid) ? uuid : `~${sha256(uuid).toString("hex")}`}`;
}

/** Milliseconds since 1970; 0 before anything is stored. */
function mtimeOf({ updated_at }: LogHead): number {
  return typeof updated_at === "string" ? Date.parse(updated_at) : 0;
}

function summaryIn(head: LogHead): SessionSummaryEntry | undefined {
  const { session_id, summary } = head;
  if (typeof summary !== "object" || summary === null) return undefined;
  const data = summary as Record<string, unknown>;
  return { sessionId: String(session_id), mtime: mtimeOf(head), data };
}

/** What is kept of each text of a summary, in UTF-16 code units. */
const summaryUnits = 8_192;

/** The head with a summary. One that does not fit is `null`, and stays so. */
function withSummary(head: LogHead, data: unknown): LogHead {
  if (data === undefined) return { ...head, summary: null };
  const texts = Object.entries(data ?? {}).map(
    ([name, value]) =>
      [name, typeof value === "string" ? value.slice(0, summaryUnits) : value] as const,
  );
  const whole = { ...head, summary: Object.fromEntries(texts) as JsonObject };
  try {
    prepareHead(whole);
    return whole;
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return { ...head, summary: null };
  }
}
