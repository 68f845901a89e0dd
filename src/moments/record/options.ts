import { type Clock, systemClock } from "../../core/clock.ts";
import { fillWithRandom } from "../../core/ids.ts";
import { type Logger, silentLogger } from "../../core/logger.ts";
import { withDefaults } from "../../core/options.ts";
import { systemTimers, type Timers } from "../../core/timers.ts";
import type { PackageSink } from "../package/package-sink.ts";
import type { Consent } from "../package/record.ts";
import type { Resample } from "./buffers.ts";
import { type ConsentInput, checkConsent, initialConsent } from "./consent.ts";
import type { Redact } from "./draft.ts";
import { type BufferLimits, checkWhole, resolveLimits } from "./limits.ts";
import type { FrameEncoder } from "./raw-frames.ts";
import type { ReceiptState } from "./receipt.ts";

/** What became of a moment. `failed`: not yet, tried again; `discarded`: never will be. */
export interface MomentEvent {
  readonly type: `feedback.${"accepted" | "durable" | "uploaded" | "failed" | "discarded"}`;
  readonly receipt: ReceiptState;
}

export interface MomentRecorderOptions {
  /** Where moments are kept. */
  readonly sink: PackageSink;
  /** The run's id: 8 hexadecimal digits. */
  readonly sessionId: string;
  /** What writes the packages: stored in each. */
  readonly software: { readonly name: string; readonly version: string };
  readonly limits?: Partial<BufferLimits>;
  /**
   * The consent that applies until someone gives or refuses theirs.
   * @default messages alone; nothing leaves the machine
   */
  readonly consent?: ConsentInput;
  /** What was agreed to in an earlier run, as it was kept. It goes before `consent`. */
  readonly agreed?: Consent | undefined;
  /**
   * How many moments an hour keep pictures and sound, 0 to 10,000. One more keeps its label and its
   * words: a person is never refused for being frequent.
   * @default 60
   */
  readonly maxMediaPerHour?: number;
  /**
   * How many moments may wait to be saved, 1 to 4.
   * @default 4
   */
  readonly maxWaiting?: number;
  /**
   * How many bytes of pictures and sound they may hold together, what they share counted once.
   * @default 80_000_000
   */
  readonly maxPinnedBytes?: number;
  /** IANA name of the zone, stored in each package. */
  readonly zone?: string;
  /** Makes a JPEG of raw pictures. Absent: they are refused. */
  readonly encoder?: FrameEncoder;
  /** Makes 16 kHz mono of other sound. Absent: it is refused. */
  readonly resample?: Resample;
  readonly redact?: Redact;
  /** The package of this id that an earlier run made: its receipt is the answer. */
  readonly known?: (id: string) => ReceiptState | undefined;
  /** Told in order. Must not throw. */
  readonly onEvent?: (event: MomentEvent) => void;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly logger?: Logger;
  /** Fills bytes at random. */
  readonly random?: (bytes: Uint8Array) => void;
}

const defaults = {
  maxMediaPerHour: 60,
  maxWaiting: 4,
  maxPinnedBytes: 80_000_000,
} as const;

export interface Resolved {
  readonly sink: PackageSink;
  readonly sessionId: string;
  readonly software: { readonly name: string; readonly version: string };
  readonly limits: BufferLimits;
  readonly consent: Consent;
  readonly maxMediaPerHour: number;
  readonly maxWaiting: number;
  readonly maxPinnedBytes: number;
  readonly zone: string | null;
  readonly encoder: FrameEncoder | undefined;
  readonly resample: Resample | undefined;
  readonly redact: Redact | undefined;
  readonly known: (id: string) => ReceiptState | undefined;
  readonly onEvent: (event: MomentEvent) => void;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly random: (bytes: Uint8Array) => void;
}

/** @throws TypeError: an option is out of its bounds. */
export function resolveOptions(options: MomentRecorderOptions): Resolved {
  const { maxMediaPerHour, maxWaiting, maxPinnedBytes } = withDefaults(options, defaults);
  checkWhole("maxMediaPerHour", maxMediaPerHour, 0, 10_000);
  checkWhole("maxWaiting", maxWaiting, 1, 4);
  checkWhole("maxPinnedBytes", maxPinnedBytes, 1_000_000, 1_000_000_000);
  if (!/^[0-9a-f]{8}$/.test(options.sessionId)) {
    throw new TypeError("sessionId must have 8 hexadecimal digits");
  }
  const { clock = systemClock, consent, agreed } = options;
  const configured = consent === undefined ? initialConsent : checkConsent(consent, clock.now());
  return {
    sink: options.sink,
    sessionId: options.sessionId,
    software: options.software,
    limits: resolveLimits(options.limits),
    consent: agreed ?? configured,
    maxMediaPerHour,
    maxWaiting,
    maxPinnedBytes,
    zone: options.zone ?? null,
    encoder: options.encoder,
    resample: options.resample,
    redact: options.redact,
    known: options.known ?? (() => undefined),
    onEvent: options.onEvent ?? (() => undefined),
    clock,
    timers: options.timers ?? systemTimers,
    logger: options.logger ?? silentLogger,
    random: options.random ?? fillWithRandom,
  };
}
