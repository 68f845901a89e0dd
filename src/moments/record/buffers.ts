import type { Clock } from "../../core/clock.ts";
import { invalid } from "../../core/errors.ts";
import { checkJson, type Json } from "../../core/json.ts";
import { Lru } from "../../core/lru.ts";
import { sha256 } from "../../core/sha256.ts";
import { AudioBuffer, FrameBuffer, type FrameEncoder } from "./media.ts";
import { MessageBuffer } from "./messages.ts";
import { limits } from "./ring.ts";

const maxPeople = 100;

interface BufferSettings {
  readonly sessionId: string;
  readonly clock: Clock;
  readonly keepPhotoMetadata?: boolean | undefined;
  readonly encoder?: FrameEncoder | undefined;
}

/** The rolling buffers: what led to now, each stream within a budget of its own. */
export type MomentBuffers = ReturnType<typeof buffersOf>;

export function buffersOf(settings: BufferSettings) {
  const { sessionId, clock, keepPhotoMetadata, encoder } = settings;
  return {
    now: captureClock(clock),
    messages: new MessageBuffer(sessionId),
    frames: new FrameBuffer(keepPhotoMetadata, encoder),
    audio: new AudioBuffer(),
    captured: new CapturedValues(limits.capturedBytes),
    /** When each was last seen, on the same clock. */
    people: new Lru<string, number>(maxPeople),
  };
}

/** What the buffers hold at most, as people are told of it. */
export const bufferBounds = {
  messages: limits.messages,
  frames: limits.frames,
  audio_seconds: limits.mediaAgeMs / 1_000,
  /** Of all buffers together. */
  bytes: limits.messageBytes + limits.frameBytes + limits.audioSamples * 2 + limits.capturedBytes,
};

/** A machine that slept for less did not: the uptime is told in steps. */
const noticedMs = 1_000;

/**
 * Tells when something is received: on the monotonic clock, and on while the machine sleeps, where its clock has
 * an uptime. Never goes back.
 */
function captureClock(clock: Clock): () => number {
  const lead = () => (clock.uptimeMs?.() ?? 0) - clock.monotonic();
  const atStart = lead();
  let sleptMs = 0;
  return () => {
    const slept = lead() - atStart;
    if (slept - sleptMs > noticedMs) sleptMs = slept;
    return clock.monotonic() + sleptMs;
  };
}

const maxNames = 64;

/**
 * What holds until it changes: system prompt, tools, provider, model, persona, mood, camera. Outside
 * the rings, the last value wins, and every package gets it: after 50 messages the prompt would long
 * have left a ring. A value that does not fit in what all may take together is kept as its hash.
 */
export class CapturedValues {
  readonly #maxBytes: number;
  /** As JSON. */
  readonly #texts = new Map<string, string>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Sets a value; `undefined` removes it.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`: not JSON, or a new name
   * where there are 64. The value of before stays.
   */
  set(name: string, value: unknown): void {
    if (value !== undefined) checkJson(value, "the captured value");
    if (!/^[a-z][a-z0-9_]{0,39}$/.test(name)) {
      throw invalid("the name of a captured value is wrong");
    }
    if (!this.#texts.has(name) && this.#texts.size >= maxNames) {
      throw invalid(`there are ${maxNames} captured values already`);
    }
    this.#texts.delete(name);
    if (value === undefined) return;
    const text = JSON.stringify(value);
    const fits = this.bytes + Buffer.byteLength(text) <= this.#maxBytes;
    const hash = () => ({ sha256: sha256(text).toString("hex"), omitted: "too_large" });
    this.#texts.set(name, fits ? text : JSON.stringify(hash()));
  }

  get bytes(): number {
    return [...this.#texts.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  }

  /** In the order of their names. */
  snapshot(): Readonly<Record<string, Json>> {
    const entries = [...this.#texts].map(([name, text]) => [name, JSON.parse(text)] as const);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
