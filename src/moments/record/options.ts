import { type Clock, systemClock } from "../../core/clock.ts";
import { fillWithRandom } from "../../core/ids.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import type { MomentsOptions } from "../options.ts";
import type { PackageSink } from "../package/package-sink.ts";
import type { Consent } from "../package/record.ts";
import { checkConsent, initialConsent } from "./consent.ts";
import type { ReadFile } from "./moment.ts";
import type { ReceiptState } from "./receipt.ts";

/** `failed`: not yet, tried again; `discarded`: never will be; `retracted`: also by deleting it. */
export type News = "accepted" | "durable" | "uploaded" | "failed" | "discarded" | "retracted";

/** What became of a moment. */
export interface MomentEvent {
  readonly type: `feedback.${News}`;
  readonly receipt: ReceiptState;
}

type Recording = "sessionId" | "software" | "consent" | "encoder";

export interface RecorderOptions extends Pick<MomentsOptions, Recording> {
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
