import {
  type Consent,
  feedbackSchema,
  type PackageMessage,
  type PackageRecord,
  type Reduced,
} from "../package/record.ts";
import { type AudioSnapshot, joined, startOf } from "./audio-ring.ts";
import type { MomentBuffers } from "./buffers.ts";
import { effectiveConsent } from "./consent.ts";
import { draftAudio, draftFrames, draftMessage, type MomentDraft, type Zero } from "./draft.ts";
import type { BufferedFrame } from "./frame-buffer.ts";
import type { Label, MomentInput } from "./label.ts";
import type { BufferedMessage } from "./message-buffer.ts";
import type { Receipt } from "./receipt.ts";
import { isOfChat, type TargetTurn } from "./target-turn.ts";
import { millis, seconds } from "./times.ts";
import type { Captured } from "./waiting.ts";

/** What is known at the trigger. */
export interface Trigger extends Zero {
  readonly ageMs: number;
  readonly uuid: string;
  readonly stamp: string;
  readonly label: Label;
  readonly input: MomentInput;
  readonly chatId: string | null;
  readonly target: TargetTurn;
  /** Those of the ring at the trigger, or of a transcript. */
  readonly messages: () => readonly PackageMessage[];
  /** Of the newest message at the trigger: what is newer enters by post-roll alone. */
  readonly lastSeq: number;
  readonly from: "ring" | "transcript";
  readonly reduced: Reduced | null;
  /** Pictures and sound are kept. */
  readonly withMedia: boolean;
  readonly consent: Consent;
  readonly sessionId: string;
  readonly software: PackageRecord["software"];
  readonly zone: string | null;
}

type OverlapsOf = (fromMs: number, toMs: number) => PackageRecord["window"]["overlaps"];

/**
 * A moment from its trigger to the end of its post-roll. What the buffers held at the trigger is held
 * by reference at once; nothing is taken from them.
 */
export class Capture {
  readonly receipt: Receipt;
  readonly trigger: Trigger;
  readonly #buffers: MomentBuffers;
  readonly #frames: readonly BufferedFrame[];
  readonly #audio: AudioSnapshot | undefined;

  constructor(receipt: Receipt, trigger: Trigger, buffers: MomentBuffers) {
    this.receipt = receipt;
    this.trigger = trigger;
    this.#buffers = buffers;
    this.#frames = trigger.withMedia ? buffers.frames.snapshot() : [];
    this.#audio = trigger.withMedia ? buffers.audio.snapshot() : undefined;
  }

  get media(): readonly ArrayBufferView[] {
    return mediaOf(this.#frames, this.#audio);
  }

  /** Who was there: told where somebody may be seen or heard. */
  get people(): readonly string[] {
    const { ageMs, consent } = this.trigger;
    if (!consent.frames && !consent.audio) return [];
    return this.#buffers.peopleSince(ageMs - this.#buffers.mediaAgeMs);
  }

  /**
   * Ends the post-roll, now: holds all that the moment has.
   *
   * @param overlapsOf the other moments that share part of a window.
   */
  end(overlapsOf: OverlapsOf): Captured {
    const { trigger } = this;
    const { monoMs: now } = this.#buffers.clock.now();
    const postMs = Math.min(Math.max(now - trigger.monoMs, 0), trigger.label.postRollMs);
    const endMs = trigger.monoMs + postMs;
    const frames = this.#framesUntil(endMs);
    const audio = this.#audioUntil(postMs);
    const later = this.#messagesUntil(endMs);
    const fromMs = Math.min(trigger.monoMs, ...oldest(frames, audio));
    const overlaps = overlapsOf(fromMs, endMs);
    const fixed = this.#fixed();
    const { people } = this;
    const latched = trigger.consent.messages ? this.#buffers.captured.snapshot() : {};
    const compose = (): MomentDraft => {
      const { label, target } = trigger;
      const messages = [...trigger.messages(), ...later.map((one) => draftMessage(one, trigger))];
      const window = {
        pre_ms: millis(trigger.monoMs - fromMs),
        post_ms: millis(postMs),
        from: trigger.from,
        first_seq: messages[0]?.seq ?? null,
        last_seq: messages.at(-1)?.seq ?? null,
        overlaps,
      };
      return {
        fixed: { ...fixed, target_reason: target.reason, window },
        content: {
          what: label.what,
          trigger: label.trigger,
          correction: label.correction,
          people,
          latched,
          messages,
          frames: draftFrames(frames, trigger),
          audio: draftAudio(audio, trigger),
          redactions: [],
        },
        judged: target.judged,
        triggerTurn: target.triggerTurn,
      };
    };
    return { media: mediaOf(frames, audio), compose };
  }

  #framesUntil(endMs: number): readonly BufferedFrame[] {
    if (!this.trigger.withMedia || endMs === this.trigger.monoMs) return this.#frames;
    const lastSeq = this.#frames.at(-1)?.seq ?? 0;
    const later = this.#buffers.frames.snapshot().filter(({ seq, receivedMs }) => {
      return seq > lastSeq && receivedMs <= endMs;
    });
    return [...this.#frames, ...later];
  }

  #audioUntil(postMs: number): AudioSnapshot | undefined {
    if (this.#audio === undefined || postMs === 0) return this.#audio;
    return joined(this.#audio, this.#buffers.audio.snapshot(this.#audio.to));
  }

  #messagesUntil(endMs: number): readonly BufferedMessage[] {
    const { lastSeq, chatId, from, consent } = this.trigger;
    if (from === "transcript" || !consent.messages) return [];
    return this.#buffers.messages.snapshot().filter((message) => {
      const isLater = message.seq > lastSeq && message.timeMs > this.trigger.monoMs;
      return isLater && message.timeMs <= endMs && isOfChat(message, chatId);
    });
  }

  #fixed(): Omit<MomentDraft["fixed"], "target_reason" | "window"> {
    const { label, input, uuid, stamp, reduced, wallMs } = this.trigger;
    const { what: _, trigger: __, correction: ___, postRollMs: ____, ...judgement } = label;
    const { id, name } = this.receipt;
    const { clock, captured, mediaAgeMs } = this.#buffers;
    const sinceMs = this.trigger.ageMs - mediaAgeMs;
    return {
      id,
      timestamp: seconds(wallMs),
      timestamp_str: stamp,
      ...judgement,
      session_id: this.trigger.sessionId,
      chat_id: this.trigger.chatId,
      provider: input.provider ?? textOf(captured.get("provider")),
      model: input.model ?? textOf(captured.get("model")),
      schema: feedbackSchema,
      uuid,
      name,
      matched: input.matched ?? [],
      consent: effectiveConsent(this.trigger.consent),
      reduced,
      supersedes: input.supersedes ?? null,
      trace: input.trace ?? null,
      clock: {
        mono_ms: millis(clock.sinceStartMs(this.trigger.monoMs)),
        boot_id: clock.bootId,
        zone: this.trigger.zone,
        steps: clock.stepsSince(sinceMs).map(({ monoMs, byMs }) => {
          return { t_ms: millis(monoMs - this.trigger.monoMs), by_ms: millis(byMs) };
        }),
        suspends: clock.suspendsSince(sinceMs).map(({ monoMs, byMs }) => {
          return { t_ms: millis(monoMs - this.trigger.monoMs), ms: millis(byMs) };
        }),
      },
      software: this.trigger.software,
    };
  }
}

function mediaOf(frames: readonly BufferedFrame[], audio: AudioSnapshot | undefined) {
  const blocks = audio?.parts.map(({ block }) => block.pcm) ?? [];
  return [...frames.map(({ jpeg }) => jpeg), ...blocks];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function oldest(frames: readonly BufferedFrame[], audio: AudioSnapshot | undefined): number[] {
  const times = frames.slice(0, 1).map(({ receivedMs }) => receivedMs);
  if (audio !== undefined && audio.from < audio.to) times.push(startOf(audio));
  return times;
}
