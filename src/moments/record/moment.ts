import { attachmentLimits, attachmentsOf, tokensOf } from "../../core/chat/attachments.ts";
import { frameFile } from "../package/content.ts";
import { packageStamp } from "../package/package-name.ts";
import { audioRateHz, SaveError, type SealedMoment } from "../package/package-sink.ts";
import {
  type AudioEntry,
  type Consent,
  type FrameEntry,
  feedbackSchema,
  type PackageMessage,
  type PackageOwners,
  type PackageRecord,
  type Reduced,
  type Target,
} from "../package/record.ts";
import { type AudioSnapshot, joined, startOf } from "./audio-ring.ts";
import type { MomentBuffers } from "./buffers.ts";
import { millis, seconds } from "./capture-clock.ts";
import { effectiveConsent } from "./consent.ts";
import {
  type DraftAudio,
  type DraftFrame,
  draftAudio,
  draftFrames,
  draftMessage,
  type MomentContent,
  type Zero,
} from "./draft.ts";
import type { BufferedFrame } from "./frame-buffer.ts";
import type { JudgedMessages } from "./judged-messages.ts";
import type { Label, MomentInput } from "./label.ts";
import { limits } from "./limits.ts";
import type { RecorderSettings } from "./options.ts";
import type { Receipt } from "./receipt.ts";
import { isOfChat, type TargetTurn } from "./target-turn.ts";

/** What is known at the trigger. */
interface Trigger extends Omit<JudgedMessages, "reduced">, Zero {
  readonly ageMs: number;
  readonly uuid: string;
  readonly label: Label;
  readonly input: MomentInput;
  readonly reduced: Reduced | null;
  readonly consent: Consent;
}

/** Whose a moment is that is not saved yet. */
export interface MomentFacts extends PackageOwners {
  readonly name: string;
}

type Media = Pick<MomentContent, "people" | "latched">;
type Ended = Pick<PackageRecord, "provider" | "model"> &
  Media & { readonly fromMs: number; readonly postMs: number };

/**
 * A moment from its trigger until it is saved. What the buffers held at the trigger, and what a post-roll
 * adds, is held by reference; the record is made when it is saved, because the person who reacts does not
 * wait for it.
 */
export class Moment {
  readonly receipt: Receipt;
  readonly trigger: Trigger;
  readonly #buffers: MomentBuffers;
  readonly #settings: RecorderSettings;
  readonly #later: PackageMessage[] = [];
  #frames: readonly BufferedFrame[] = [];
  #audio: AudioSnapshot | undefined;
  #ended: Ended | undefined;
  #sealed: SealedMoment | undefined;

  constructor(
    receipt: Receipt,
    trigger: Trigger,
    buffers: MomentBuffers,
    settings: RecorderSettings,
  ) {
    this.receipt = receipt;
    this.trigger = trigger;
    this.#buffers = buffers;
    this.#settings = settings;
    if (trigger.reduced !== null && trigger.reduced !== "consent") return;
    this.#frames = buffers.frames.snapshot();
    this.#audio = buffers.audio.snapshot();
  }

  /** The pictures and blocks of sound that it holds in memory. */
  get media(): readonly ArrayBufferView[] {
    const blocks = this.#audio?.parts.map(({ block }) => block.pcm) ?? [];
    return [...this.#frames.map(({ jpeg }) => jpeg), ...blocks];
  }

  get facts(): MomentFacts {
    const messages = this.#messages().map(({ id }) => id);
    const { people = this.#people() } = this.#ended ?? {};
    return { name: this.receipt.name, chat_id: this.trigger.chatId, people, messages };
  }

  /** Ends the post-roll now: from here on it holds all that it will have. */
  end(): void {
    const { trigger } = this;
    const { clock, captured } = this.#buffers;
    const passedMs = Math.max(clock.now().monoMs - trigger.monoMs, 0);
    const postMs = Math.min(passedMs, trigger.label.postRollMs);
    if (postMs > 0) this.#roll(trigger.monoMs + postMs);
    const starts = this.#frames.slice(0, 1).map(({ monoMs }) => monoMs);
    if (hasSound(this.#audio)) starts.push(startOf(this.#audio));
    const fromMs = Math.min(trigger.monoMs, ...starts);
    this.#ended = {
      fromMs,
      postMs,
      people: this.#people(),
      latched: trigger.consent.messages ? captured.snapshot() : {},
      provider: trigger.input.provider ?? textOf(captured.get("provider")),
      model: trigger.input.model ?? textOf(captured.get("model")),
    };
  }

  /**
   * Redacted and whole, the same one each time. Its files are read each time, so that none is held while
   * it waits.
   *
   * @throws SaveError `redaction_failed`
   */
  async sealed(): Promise<SealedMoment> {
    const { redact, readFile } = this.#settings;
    try {
      if (this.#sealed === undefined) {
        const content = this.#content();
        this.#sealed = this.#seal(redact === undefined ? content : await redact(content));
      }
    } catch (cause) {
      throw new SaveError("redaction_failed", { cause });
    }
    return { ...this.#sealed, attachments: await sentFiles(this.#sealed, readFile) };
  }

  /** Adds what came after the trigger. */
  #roll(endMs: number): void {
    const { lastSeq, chatId, from, consent, monoMs } = this.trigger;
    const { messages, frames, audio } = this.#buffers;
    if (this.#audio !== undefined) {
      const lastFrame = this.#frames.at(-1)?.seq ?? 0;
      const isLater = (frame: BufferedFrame) => frame.seq > lastFrame && frame.monoMs <= endMs;
      this.#frames = [...this.#frames, ...frames.snapshot().filter(isLater)];
      this.#audio = joined(this.#audio, audio.snapshot(this.#audio.to));
    }
    if (from === "transcript" || !consent.messages) return;
    for (const message of messages.snapshot()) {
      const { seq, timeMs } = message;
      const isLater = seq > lastSeq && timeMs > monoMs && timeMs <= endMs;
      if (isLater && isOfChat(message, chatId)) {
        this.#later.push(draftMessage(message, this.trigger));
      }
    }
  }

  #messages(): readonly PackageMessage[] {
    return [...this.trigger.messages(), ...this.#later];
  }

  /** Who was there: told where somebody may be seen or heard. */
  #people(): readonly string[] {
    const { ageMs, consent } = this.trigger;
    if (!consent.frames && !consent.audio) return [];
    const since = ageMs - limits.mediaAgeMs;
    const seen = [...this.#buffers.people].filter(([, at]) => at >= since);
    return seen.map(([name]) => name).sort();
  }

  #content(): MomentContent {
    const { what, trigger, correction } = this.trigger.label;
    const { people = [], latched = {} } = this.#ended ?? {};
    return {
      what,
      trigger,
      correction,
      people,
      latched,
      messages: this.#messages(),
      frames: draftFrames(this.#frames, this.trigger),
      audio: draftAudio(this.#audio, this.trigger),
      redactions: [],
    };
  }

  /** Makes it whole: counts, indexes and ranges follow from what is left of it. */
  #seal({ messages, frames, audio, ...content }: MomentContent): SealedMoment {
    if (this.#ended === undefined) throw new Error("the moment has not ended");
    const { fromMs, postMs, people: _, latched: __, ...ended } = this.#ended;
    const { label, input, chatId, from, reduced, uuid, consent, wallMs, target } = this.trigger;
    const { sentiment, source, channel, score, annotator } = label;
    const said = this.#messages();
    const placed = placedTarget(target.judged, messages);
    const record: PackageRecord = {
      ...content,
      ...ended,
      id: this.receipt.id,
      name: this.receipt.name,
      uuid,
      schema: feedbackSchema,
      timestamp: seconds(wallMs),
      timestamp_str: packageStamp(wallMs),
      sentiment,
      source,
      channel,
      score,
      annotator,
      session_id: this.#settings.sessionId,
      sealed_timestamp: seconds(this.#settings.clock.now()),
      software: this.#settings.software,
      chat_id: chatId,
      matched: input.matched ?? [],
      supersedes: input.supersedes ?? null,
      trace: null,
      consent: effectiveConsent(consent),
      reduced,
      window: {
        pre_ms: millis(this.trigger.monoMs - fromMs),
        post_ms: millis(postMs),
        from,
        first_seq: said[0]?.seq ?? null,
        last_seq: said.at(-1)?.seq ?? null,
      },
      num_messages: messages.length,
      num_frames: frames.length,
      audio_chunks: audio?.chunks ?? 0,
      audio_samples: audio?.samples ?? 0,
      target: placed,
      // What was judged may have been redacted away.
      target_reason: placed === null ? (target.reason ?? "no_assistant_turn") : null,
      trigger_turn: placedTrigger(target.triggerTurn, messages),
      frames: frames.map(entryOfFrame),
      audio: entryOf(audio),
    };
    return { record, messages, frames: frames.map(({ jpeg }) => jpeg), audio };
  }
}

function hasSound(audio: AudioSnapshot | undefined): audio is AudioSnapshot {
  return audio !== undefined && audio.from < audio.to;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function placedTarget(
  judged: TargetTurn["judged"],
  messages: readonly PackageMessage[],
): Target | null {
  const kept = messages.filter(({ id }) => judged?.message_ids.includes(id));
  const [first, last] = [kept[0], kept.at(-1)];
  if (judged === null || first === undefined || last === undefined) return null;
  const index = messages.indexOf(first);
  const count = messages.indexOf(last) - index + 1;
  return { ...judged, message_ids: kept.map(({ id }) => id), index, count };
}

function placedTrigger(trigger: TargetTurn["triggerTurn"], messages: readonly PackageMessage[]) {
  if (trigger === null) return null;
  const index = messages.findIndex(({ id }) => id === trigger.message_id);
  return { ...trigger, index: index < 0 ? null : index };
}

function entryOfFrame({ jpeg: _, ...entry }: DraftFrame, index: number): FrameEntry {
  return { file: frameFile(index), ...entry };
}

function entryOf(audio: DraftAudio | null): AudioEntry | null {
  if (audio === null) return null;
  const { samples, start_t_ms, source_t_ms = null } = audio;
  const format = { rate_hz: audioRateHz, channels: 1, bits: 16 } as const;
  return { file: "audio.wav", ...format, samples, start_t_ms, source_t_ms };
}

/**
 * Reads what a model can have got of the files of messages: the newest first, at most 20 MiB in all. A moment
 * that is one too many in its hour keeps their names alone.
 */
async function sentFiles(
  { record, messages }: SealedMoment,
  read: RecorderSettings["readFile"],
): Promise<ReadonlyMap<string, Uint8Array>> {
  const { chat_id: chatId, reduced } = record;
  const sent = new Map<string, Uint8Array>();
  if (chatId === null || reduced === "rate_cap") return sent;
  let room: number = attachmentLimits.bytes;
  const files = messages.toReversed().flatMap(({ attachments }) => attachmentsOf({ attachments }));
  for (const file of files) {
    if (tokensOf(file) === 0 || file.size > room || sent.has(file.sha256)) continue;
    const bytes = await read(chatId, file.sha256);
    room -= bytes?.length ?? 0;
    if (bytes !== undefined) sent.set(file.sha256, bytes);
  }
  return sent;
}
