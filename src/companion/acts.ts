// What can happen to a companion, as data. Where several processes have one companion, each appends its
// acts to one log, and each folds that log: see fold.ts. docs/formats/companion.md describes the records.

import { instantOf } from "../core/chat/stamp.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { LogRecord } from "../core/storage/log-store.ts";
import { type ClockReading, readReading, storedReading } from "./boot-clock.ts";
import { type ClientStep, clientSteps } from "./client-runs.ts";
import { companionLimits } from "./companion-document.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import { readWrittenConfiguration, writtenConfiguration } from "./emotion/emotions-schema.ts";
import type { RestartReport } from "./restart.ts";
import type { ShownNotice } from "./restart-notices.ts";
import type { BegunRun, RunStart } from "./runs.ts";

export type SleepState = "awake" | "asleep";

/** The run of the companion, as every process that has it knows it. */
export interface SharedRun {
  /** Of the leader: a failover begins another one. */
  readonly run: Omit<BegunRun, "previous">;
  /** Where the companion came up, whichever process leads since. */
  readonly began: RunStart;
  /** Its interrupted turns are acts of their own, since each belongs to a chat. */
  readonly report: RestartReport;
}

export type Happening =
  | { readonly kind: "event"; readonly name: string; readonly intensity: number }
  /** A person spoke: the events that their words caused. The words are in `said`. */
  | { readonly kind: "heard"; readonly events: readonly string[] }
  /** A person was there without a word, as with a touch. */
  | { readonly kind: "person" }
  | { readonly kind: "mood"; readonly mood: string; readonly seconds: number }
  | { readonly kind: "reset" }
  | { readonly kind: "configured"; readonly configuration: EmotionConfiguration | undefined }
  | { readonly kind: "said" | "replied"; readonly chat: string; readonly text: string }
  | { readonly kind: "seen"; readonly name: string }
  | { readonly kind: "sleep"; readonly state: SleepState }
  /** A chat acknowledged the runs up to `session`. */
  | {
      readonly kind: "acknowledged";
      readonly chat: string;
      readonly session?: number | undefined;
      readonly notice?: ShownNotice | undefined;
    }
  /** A step of the run of a program that is not the server, with the text or the id that it is about. */
  | {
      readonly kind: "client";
      readonly client: string;
      readonly does: ClientStep;
      readonly text?: string | undefined;
    }
  /** Such a program appended to a chat. */
  | { readonly kind: "appended"; readonly client: string; readonly chat: string }
  /** A chat was forgotten: the hash of its id. */
  | { readonly kind: "forgot"; readonly hash: string }
  /**
   * A run came up, or has another leader, or continues in this log. With `state` everything starts from
   * there.
   */
  | {
      readonly kind: "up";
      readonly shared: SharedRun;
      readonly configuration: EmotionConfiguration | undefined;
      readonly state?: JsonObject | undefined;
    }
  /** A turn that the last restart cut off. */
  | { readonly kind: "interrupted"; readonly chat: string; readonly message: string }
  /** This log ends here; the acts continue in the next one. */
  | { readonly kind: "end"; readonly next: string };

export type Act = Happening & {
  readonly id: string;
  /** When, on the clock of the emotional state: whole milliseconds. */
  readonly felt: number;
  /** When, on the wall clock: milliseconds since 1970. */
  readonly at: number;
  readonly reading: ClockReading;
};

/** The record of an act. Long texts are cut to what is kept of them. */
export function actRecord({ id, felt, at: _, reading, ...happening }: Act): LogRecord {
  const when = storedReading(reading);
  const fields = JSON.parse(JSON.stringify(storedFields(happening))) as JsonObject;
  return { id, kind: happening.kind, felt, ...when, ...fields };
}

function storedFields({ kind: _, ...fields }: Happening): object {
  const stored: Record<string, unknown> = { ...fields };
  if (typeof stored["text"] === "string") {
    stored["text"] = stored["text"].slice(0, companionLimits.text).toWellFormed();
  }
  if ("configuration" in fields) {
    stored["configuration"] =
      (fields.configuration && writtenConfiguration(fields.configuration)) ?? null;
  }
  if ("shared" in fields) {
    const { report, ...shared } = fields.shared;
    stored["shared"] = { ...shared, report: { ...report, interrupted: [] } };
  }
  return stored;
}

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isConfiguration = (value: unknown) => value === null || isJsonObject(value);
const isAbsentOr = (check: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || check(value);
const isListOf = (check: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(check);

/** Of each kind, what its fields must be. */
const shapes: Readonly<
  Record<Happening["kind"], Readonly<Record<string, (value: unknown) => boolean>>>
> = {
  event: { name: isText, intensity: isNumber },
  heard: { events: isListOf(isText) },
  person: {},
  mood: { mood: isText, seconds: isNumber },
  reset: {},
  configured: { configuration: isConfiguration },
  said: { chat: isText, text: isText },
  replied: { chat: isText, text: isText },
  seen: { name: isText },
  sleep: { state: (value) => value === "awake" || value === "asleep" },
  acknowledged: { chat: isText, session: isAbsentOr(isNumber), notice: isAbsentOr(isNotice) },
  client: { client: isText, does: isClientStep, text: isAbsentOr(isText) },
  appended: { client: isText, chat: isText },
  forgot: { hash: isText },
  up: { shared: isShared, configuration: isConfiguration, state: isAbsentOr(isJsonObject) },
  interrupted: { chat: isText, message: isText },
  end: { next: isText },
};

/** Reads a record. `undefined`: an erased one, or one that this version does not know. */
export function readAct(record: JsonObject): Act | undefined {
  const { id, kind, felt } = record;
  const at = instantOf(record["at"]);
  const known = isText(kind) && Object.hasOwn(shapes, kind as string);
  if (!known || !isText(id) || !Number.isSafeInteger(felt) || at === undefined) return undefined;
  const shape = Object.entries(shapes[kind as Happening["kind"]]);
  if (!shape.every(([name, isRight]) => isRight(record[name]))) return undefined;
  const when = { id, kind, felt, at, reading: readReading(record) ?? { at } };
  const fields = Object.fromEntries(shape.map(([name]) => [name, record[name]]));
  if ("configuration" in fields) {
    const written = record["configuration"];
    const configuration = isJsonObject(written) ? readWrittenConfiguration(written) : undefined;
    return { ...fields, ...when, configuration } as unknown as Act;
  }
  return { ...fields, ...when } as unknown as Act;
}

function isClientStep(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(clientSteps, value);
}

function isNotice(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  return ["chatId", "kind", "status", "text"].every((name) => isText(value[name]));
}

function isShared(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { run, began, report } = value;
  if (!isStart(run) || !isStart(began) || !isJsonObject(report)) return false;
  const isReport = isText(report["kind"]) && Array.isArray(report["interrupted"]);
  return isReport && [run, report].every((each) => Number.isInteger(each["totalRuns"]));
}

function isStart(value: unknown): value is JsonObject {
  return isJsonObject(value) && isText(value["runId"]) && isJsonObject(value["startedAt"]);
}
