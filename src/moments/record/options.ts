import { type Clock, systemClock } from "../../core/clock.ts";
import { fillWithRandom } from "../../core/ids.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { anObject, type Checks, type Defaults } from "../../core/options.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import type { PackageSink } from "../package/package-sink.ts";
import type { Consent } from "../package/record.ts";
import { type ConsentInput, checkConsent, initialConsent } from "./consent.ts";
import type { FrameEncoder } from "./media.ts";
import type { ReadFile, Redact } from "./moment.ts";
import type { ReceiptState } from "./receipt.ts";

/** `failed`: not yet, tried again; `discarded`: never will be; `retracted`: also by deleting it. */
export type News = "accepted" | "durable" | "uploaded" | "failed" | "discarded" | "retracted";

/** What became of a moment. */
export interface MomentEvent {
  readonly type: `feedback.${News}`;
  readonly receipt: ReceiptState;
}

/** What is recorded, and how much of it. */
export interface RecordingOptions {
  /** The run's id: 8 hexadecimal digits. */
  readonly sessionId: string;
  /** What writes the packages: stored in each. */
  readonly software: { readonly name: string; readonly version: string };
  /**
   * The consent that applies until someone gives or refuses theirs.
   * @default messages alone; nothing leaves the machine
   */
  readonly consent?: ConsentInput | undefined;
  /** Makes a JPEG of raw pictures. Absent: they are refused. */
  readonly encoder?: FrameEncoder | undefined;
  readonly redact?: Redact | undefined;
}

export const recordingDefaults = {
  consent: undefined,
  encoder: undefined,
  redact: undefined,
} as const satisfies Defaults<RecordingOptions>;

export const recordingChecks: Checks<RecordingOptions> = {
  sessionId: ["8 hexadecimal digits", (value) => /^[0-9a-f]{8}$/.test(String(value))],
  software: anObject,
  consent: anObject,
};

export interface RecorderOptions extends RecordingOptions {
  /** Where moments are kept. */
  readonly sink: PackageSink;
  /** What was agreed to in an earlier run, as it was kept. It goes before `consent`. */
  readonly agreed?: Consent | undefined;
  /** The package of this id that an earlier run made: its receipt is the answer. */
  readonly known?: (id: string) => ReceiptState | undefined;
  /** Reads a file that a message names, for the package. @default it is not there */
  readonly readFile?: ReadFile;
  /** Told in order. Must not throw. */
  readonly onEvent?: (event: MomentEvent) => void;
  /** Whether this run uploads packages: `whenUploaded` rejects where none does. @default true */
  readonly uploads?: boolean;
  /** Whether pictures keep place, device and time, as the camera wrote them. @default false */
  readonly keepPhotoMetadata?: boolean | undefined;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly logger?: Logger;
  /** Fills bytes at random. */
  readonly random?: (bytes: Uint8Array) => void;
}

const defaults = {
  known: (): ReceiptState | undefined => undefined,
  readFile: async () => undefined,
  onEvent: () => undefined,
  uploads: true,
  clock: systemClock,
  timers: systemTimers,
  logger: silentLogger,
  random: fillWithRandom,
};

export type RecorderSettings = ReturnType<typeof recorderSettings>;

/** @throws ThroughlineError `THROUGHLINE_INVALID`: the consent cannot be used. */
export function recorderSettings({ consent, agreed, ...given }: RecorderOptions) {
  const options = { ...defaults, ...given };
  const configured = consent ? checkConsent(consent, options.clock.now()) : initialConsent;
  return { ...options, consent: agreed ?? configured };
}
