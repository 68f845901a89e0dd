import { type Clock, systemClock } from "../../core/clock.ts";
import { fillWithRandom } from "../../core/ids.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { anObject, type Checks, type Defaults, resolveOptions } from "../../core/options.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import type { PackageSink } from "../package/package-sink.ts";
import type { Consent } from "../package/record.ts";
import { type ConsentInput, checkConsent, initialConsent } from "./consent.ts";
import type { Redact } from "./draft.ts";
import type { ReceiptState } from "./receipt.ts";

/** Reads a file that was sent in a chat; `undefined`: it is not there. */
export type ReadFile = (chatId: string, sha256: string) => Promise<Uint8Array | undefined>;

/** A picture before it is a JPEG: rows from the top, 3 (RGB) or 4 (RGBA) bytes a pixel. */
export interface RawFrame {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Makes a JPEG of a raw picture, off the event loop. */
export interface FrameEncoder {
  /** @param quality 1 to 100. */
  encode(frame: RawFrame, quality: number): Promise<Uint8Array>;
}

/** `failed`: not yet, tried again; `discarded`: never will be; `retracted`: also by deleting it. */
type News = "accepted" | "durable" | "uploaded" | "failed" | "discarded" | "retracted";

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

export interface MomentRecorderOptions extends RecordingOptions {
  /** Where moments are kept. */
  readonly sink: PackageSink;
  /** What was agreed to in an earlier run, as it was kept. It goes before `consent`. */
  readonly agreed?: Consent | undefined;
  /** The package of this id that an earlier run made: its receipt is the answer. */
  readonly known?: ((id: string) => ReceiptState | undefined) | undefined;
  /** Reads a file that a message names, for the package. @default it is not there */
  readonly readFile?: ReadFile | undefined;
  /** Told in order. Must not throw. */
  readonly onEvent?: ((event: MomentEvent) => void) | undefined;
  /** Whether this run uploads packages: `whenUploaded` rejects where none does. @default true */
  readonly uploads?: boolean | undefined;
  /** Whether pictures keep place, device and time, as the camera wrote them. @default false */
  readonly keepPhotoMetadata?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly timers?: Timers | undefined;
  readonly logger?: Logger | undefined;
  /** Fills bytes at random. */
  readonly random?: ((bytes: Uint8Array) => void) | undefined;
}

const defaults = {
  ...recordingDefaults,
  agreed: undefined,
  known: () => undefined,
  readFile: async () => undefined,
  onEvent: () => undefined,
  uploads: true,
  keepPhotoMetadata: false,
  clock: systemClock,
  timers: systemTimers,
  logger: silentLogger,
  random: fillWithRandom,
} as const satisfies Defaults<MomentRecorderOptions>;

const checks: Checks<MomentRecorderOptions> = { ...recordingChecks, sink: anObject };

export type RecorderSettings = ReturnType<typeof recorderSettings>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function recorderSettings(given: MomentRecorderOptions) {
  const options = resolveOptions("the options of a recorder", given, defaults, checks);
  const { consent, agreed, clock } = options;
  const configured = consent === undefined ? initialConsent : checkConsent(consent, clock.now());
  return { ...options, consent: agreed ?? configured };
}
