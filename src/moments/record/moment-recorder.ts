import { idConflict } from "../../core/errors.ts";
import { fillWithRandom } from "../../core/ids.ts";
import { Lru } from "../../core/lru.ts";
import type { Runtime } from "../../core/runtime.ts";
import { sha256 } from "../../core/sha256.ts";
import type { MomentsOptions } from "../options.ts";
import {
  makeUuidV7,
  packageId,
  packageName,
  packageStamp,
  sentimentOf,
} from "../package/package-name.ts";
import type { PackageSink } from "../package/package-sink.ts";
import type { Consent } from "../package/record.ts";
import { bufferBounds, buffersOf, type MomentBuffers } from "./buffers.ts";
import {
  type ConsentInput,
  changeOf,
  checkConsent,
  initialConsent,
  laterConsent,
} from "./consent.ts";
import { checkLabel, type MomentInput } from "./label.ts";
import type {
  AudioChunk,
  AudioPush,
  FrameFacts,
  FramePush,
  PushResult,
  RawFrame,
} from "./media.ts";
import type { BufferedMessage, NewMessage } from "./messages.ts";
import {
  beginMoment,
  endMoment,
  factsOf,
  type Moment,
  type MomentFacts,
  mediaOf,
  type ReadFile,
  sealMoment,
} from "./moment.ts";
import {
  type MomentEvent,
  type News,
  Receipt,
  type ReceiptReason,
  type ReceiptState,
} from "./receipt.ts";
import { SaveQueue } from "./save-queue.ts";
import { judgedMessages } from "./target-turn.ts";

const closeMs = 4_000;
/** How many moments may wait to be saved: each holds at most what the buffers do, and its post-roll. */
const maxWaiting = 4;
/** The same touch of the same turn within this time repeats the first. */
const duplicateMs = 30_000;
const hourMs = 3_600_000;
/** Pictures or sound that came so lately are coming in. */
const capturingMs = 3_000;
/**
 * How many moments an hour keep pictures and sound. One more keeps its label and its words: a person is never
 * refused for being frequent.
 */
const maxMediaPerHour = 60;
const maxReceipts = 1_000;

const streams = ["messages", "frames", "audio"] as const;
type Stream = (typeof streams)[number];

type Recording = "sessionId" | "software" | "consent" | "encoder";

export interface RecorderOptions
  extends Pick<MomentsOptions, Recording>,
    Pick<Runtime, "clock" | "timers" | "logger" | "keepPhotoMetadata"> {
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
  /** Fills bytes at random. @default by the machine */
  readonly random?: (bytes: Uint8Array) => void;
}

const defaults = { readFile: async () => undefined, random: fillWithRandom };

export interface MomentStats {
  readonly messages: number;
  readonly frames: number;
  readonly audio_samples: number;
  /** With 1 decimal. */
  readonly audio_seconds: number;
  /** What the buffers hold. */
  readonly bytes: number;
  /** What they hold at most. */
  readonly limits: typeof bufferBounds;
  /** Moments that are captured or wait to be saved, and what they hold. */
  readonly waiting: number;
  readonly pinned_bytes: number;
  readonly consent: Consent;
}

/**
 * Keeps what led to now, and makes a package of it when somebody reacts. Feeds cost microseconds and
 * never wait; `record()` takes references, copies no picture and no sound, and goes on.
 */
export class MomentRecorder {
  readonly #options: RecorderOptions & Required<Pick<RecorderOptions, keyof typeof defaults>>;
  readonly #buffers: MomentBuffers;
  readonly #queue: SaveQueue;
  /** By the ids of their packages. */
  readonly #receipts = new Lru<string, Receipt>(maxReceipts);
  #pats: readonly { readonly id: string; readonly atMs: number; readonly about: string }[] = [];
  /** When moments with pictures or sound were recorded in the last hour. */
  #media: readonly number[] = [];
  readonly #live = new Map<string, () => unknown>();
  /** Whose post-roll goes on, and what cancels its end. */
  readonly #captures = new Map<Moment, () => void>();
  #consent: Consent;
  /** How often words of a chat were removed: what was read of one before may hold them. */
  removals = 0;
  #isClosed = false;

  constructor(given: RecorderOptions) {
    const options = { ...defaults, ...given };
    const { agreed, consent, clock } = options;
    this.#options = options;
    this.#buffers = buffersOf(options);
    this.#consent = agreed ?? (consent ? checkConsent(consent, clock.now()) : initialConsent);
    const seal = (moment: Moment) => sealMoment(moment, options);
    this.#queue = new SaveQueue({
      ...options,
      seal,
      told: (what, receipt) => {
        if (what === "discarded") this.#forgetReceipt(receipt);
        this.#tell(what, receipt);
      },
    });
  }

  /**
   * Feeds a message, or what has become of one.
   *
   * @returns whether it was kept: not without consent, not after `close()`.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`
   */
  message(message: NewMessage): boolean {
    if (this.#isClosed || !this.#consent.messages) return false;
    this.#buffers.messages.push(message, this.#buffers.now());
    return true;
  }

  /** Feeds a picture as JPEG. */
  frame(jpeg: Uint8Array, push: FramePush = {}): PushResult {
    return this.#refusal("frames") ?? this.#buffers.frames.push(jpeg, this.#facts(push));
  }

  /**
   * Feeds a raw picture, which the encoder makes a JPEG of, one at a time. Do not write to its bytes
   * before this resolves. A picture is dropped if the consent changes before. One that cannot be encoded is
   * `not_jpeg`.
   */
  async rawFrame(frame: RawFrame, push: FramePush = {}): Promise<PushResult> {
    const consent = this.#consent;
    const isWanted = () => !this.#isClosed && this.#consent === consent;
    const facts = this.#facts(push);
    return this.#refusal("frames") ?? this.#buffers.frames.pushRaw(frame, facts, isWanted);
  }

  #facts({ camera, sourceMs = Number.NaN }: FramePush): FrameFacts {
    const known = Number.isFinite(sourceMs) ? sourceMs : null;
    return { atMs: this.#buffers.now(), camera: camera ?? null, sourceMs: known };
  }

  /** Feeds sound: float32 or 16 bits, 16 kHz mono. */
  audio(chunk: AudioChunk, push: AudioPush = {}): PushResult {
    return this.#refusal("audio") ?? this.#buffers.audio.push(chunk, this.#buffers.now(), push);
  }

  #refusal(stream: Stream): "closed" | "off" | undefined {
    if (this.#isClosed) return "closed";
    return this.#consent[stream] ? undefined : "off";
  }

  /**
   * Sets what holds until it changes, such as `system_prompt`, and is part of every package.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`
   */
  capture(name: string, value: unknown): void {
    this.#buffers.captured.set(name, value);
  }

  /** The same for what changes all the time: it is read when somebody reacts. Must not throw. */
  captureLive(name: string, read: () => unknown): void {
    this.#live.set(name, read);
  }

  /** Somebody is there, by name. */
  saw(person: string): void {
    // Also where nothing may be kept yet: who agrees in the next two minutes is seen with this name.
    const { people, now } = this.#buffers;
    if (!this.#isClosed) people.set(person, now());
  }

  get consent(): Consent {
    return this.#consent;
  }

  /** Whether pictures and sound come in now, by whatever way. */
  get capturing(): { readonly frames: boolean; readonly audio: boolean } {
    const { frames, audio, now } = this.#buffers;
    const sinceMs = now() - capturingMs;
    const isComing = (stream: "frames" | "audio", fedMs: number) => {
      return this.#consent[stream] && fedMs > sinceMs;
    };
    return { frames: isComing("frames", frames.fedMs), audio: isComing("audio", audio.fedMs) };
  }

  /**
   * From now on this is agreed to, and nothing else. Another consent ends post-rolls, which are saved
   * with what they have, so that a moment holds nothing of after the consent that it names. What is
   * withdrawn empties that stream at once; so does a new yes to upload or export, pictures and sound.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: nothing has changed.
   */
  agree(input: ConsentInput): void {
    // Later than what it takes the place of, also where that came from a clock that is ahead: of two
    // the later one holds at every process.
    const { timestamp } = this.#consent;
    const leastMs = timestamp === null ? 0 : timestamp * 1_000 + 1;
    this.#take(checkConsent(input, Math.max(this.#options.clock.now(), leastMs)));
  }

  /**
   * The same was said to another process that keeps moments of this companion.
   *
   * @returns whether it is later than what was agreed to here, and holds now.
   * @throws ThroughlineError `THROUGHLINE_INVALID`: it is no consent.
   */
  agreedElsewhere(consent: unknown): boolean {
    const later = laterConsent(this.#consent, consent);
    if (later !== undefined) this.#take(later);
    return later !== undefined;
  }

  #take(consent: Consent): void {
    const { emptied, withdrawn, isOther } = changeOf(this.#consent, consent);
    if (isOther) this.#endCaptures();
    for (const stream of streams) if (emptied.includes(stream)) this.#buffers[stream].clear();
    if (withdrawn.length > 0 && !consent.frames && !consent.audio) this.#buffers.people.clear();
    this.#consent = consent;
  }

  /**
   * Records a reaction: holds what led to it, from now on whatever happens to the buffers. When it
   * returns it is in memory, no more; the receipt tells how far it comes.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`: a field is wrong or too long, or the target is
   * neither in the buffers nor in the transcript. `THROUGHLINE_TOO_LARGE`: tool calls of the transcript
   * are nested too deep. `THROUGHLINE_ID_CONFLICT`: `idempotencyKey` was used for a reaction of
   * the other sentiment. Nothing was recorded.
   */
  record(input: MomentInput): Receipt {
    const label = checkLabel(input);
    const { clock, random } = this.#options;
    const zero = { atMs: this.#buffers.now(), wallMs: clock.now() };
    const { idempotencyKey: key, chatId: ofChat = null } = input;
    // A key of a chat makes the same id in every run, so that what it recorded is found again.
    const digest = key === undefined ? undefined : sha256(JSON.stringify([ofChat, key]));
    const fill = digest ? (id: Uint8Array) => id.set(digest.subarray(0, id.length)) : random;
    const uuid = makeUuidV7(zero.wallMs, fill);
    const id = packageId(uuid);
    const known = this.#options.known?.(id);
    const first = this.#receipts.peek(id) ?? (known && new Receipt(known));
    if (first !== undefined) {
      if (sentimentOf(first.name) === label.sentiment) return first;
      throw idConflict("this id was used for a reaction of the other sentiment");
    }
    const name = packageName(packageStamp(zero.wallMs), label.sentiment, uuid);
    const state = { id, name, accepted: false, durable: false, uploaded: false };
    const refused = (reason: ReceiptReason, more = {}) =>
      new Receipt({ ...state, reason, ...more });
    if (this.#isClosed) return refused("closed");
    this.#expire(zero.atMs);
    const { messages, frames, audio, captured } = this.#buffers;
    const seen = messages.snapshot();
    // Without consent to words nothing is judged, and no words come in by another way.
    const words = this.#consent.messages
      ? judgedMessages(seen, input, label, zero)
      : judgedMessages([], { chatId: input.chatId }, label, zero);
    this.#pats = this.#pats.filter(({ atMs }) => zero.atMs - atMs <= duplicateMs);
    const { chatId, target } = words;
    const about = JSON.stringify([label.sentiment, chatId, target.judged?.message_ids ?? null]);
    const isPat = label.channel === "touch" || label.source === "auto";
    const repeated = isPat ? this.#pats.find((pat) => pat.about === about) : undefined;
    if (repeated !== undefined) return refused("duplicate", { duplicate_of: repeated.id });
    if (this.#held.length >= maxWaiting) return refused("busy");
    const hasMedia = frames.count > 0 || audio.samples > 0;
    const isOld = words.from === "transcript";
    const mayKeep = isOld || !hasMedia || this.#mayKeepMedia(zero.atMs);
    const unsaid = this.#consent.messages ? null : ("consent" as const);
    const inTime = mayKeep ? unsaid : ("rate_cap" as const);
    const reduced = isOld ? ("old_target" as const) : inTime;
    for (const [name, read] of this.#live) captured.set(name, read());
    const kept = { ...state, accepted: true };
    const receipt = new Receipt(reduced === null ? kept : { ...kept, reduced });
    const lastSeq = seen.at(-1)?.seq ?? 0;
    const consent = this.#consent;
    const trigger = { ...words, receipt, zero, uuid, label, input, consent, reduced, lastSeq };
    const moment = beginMoment(trigger, this.#buffers);
    this.#receipts.set(id, receipt);
    if (isPat) this.#pats = [...this.#pats, { id, atMs: zero.atMs, about }];
    this.#capture(moment);
    return receipt;
  }

  /** What was uploaded later: its receipt tells so, if it is of this run. */
  uploaded(name: string): void {
    const receipt = this.#receipts.peek(packageId(name));
    if (receipt === undefined || receipt.uploaded) return;
    receipt.update({ uploaded: true });
    this.#tell("uploaded", receipt);
  }

  /**
   * Forgets a chat: its messages, and its moments that are not saved yet. Resolves when none of them
   * is being written any more; what was written is for the caller to delete.
   */
  async forgetChat(chatId: string): Promise<void> {
    this.removeWords(chatId);
    await this.forget((facts) => facts.chat_id === chatId);
  }

  /** Removes words of a chat, or one message of it, from the buffers: moments that are recorded keep theirs. */
  removeWords(chatId: string, messageId?: string): void {
    this.removals++;
    this.#buffers.messages.remove((message) => {
      return message.chatId === chatId && (messageId === undefined || message.id === messageId);
    });
  }

  /** Whether the buffers hold a message. */
  has(chatId: string, messageId: string): boolean {
    const all = this.#buffers.messages.snapshot();
    return all.some(({ id, chatId: of }) => id === messageId && of === chatId);
  }

  /** The answer of a turn is regenerated: takes the previous answers out of the buffers. */
  regenerates(chatId: string, turnId: string): void {
    this.#buffers.messages.setAside(ofAnswer(chatId, turnId));
  }

  /** That has ended. The previous answers come back where no other one is stored. */
  regenerated(chatId: string, turnId: string, isStored: boolean): void {
    this.#buffers.messages.settle(ofAnswer(chatId, turnId), isStored);
  }

  /** These packages were deleted: their keys are free, and nothing repeats them. */
  deleted(names: readonly string[]): void {
    for (const name of names) {
      const receipt = this.#receipts.peek(packageId(name));
      if (receipt !== undefined) this.#forgetReceipt(receipt);
    }
  }

  /** The chats of what is said in the buffers, and of moments that are not saved yet. */
  get chatIds(): ReadonlySet<string> {
    const said = this.#buffers.messages.snapshot();
    const all = [...said, ...this.#held].map(({ chatId }) => chatId);
    return new Set(all.filter((chatId) => chatId !== null));
  }

  /** Forgets what was said in any chat, but for moments that are recorded. */
  forgetWords(): void {
    this.#buffers.messages.remove(({ chatId }) => chatId !== null);
  }

  /** Removes moments that are not saved yet; resolves as `forgetChat` does. */
  async forget(holds: (facts: MomentFacts) => boolean): Promise<void> {
    const isMeant = (moment: Moment) => holds(factsOf(moment, this.#buffers));
    for (const moment of [...this.#captures.keys()]) if (isMeant(moment)) this.#finish(moment);
    await this.#queue.forget(isMeant);
  }

  /** What the model said last, in a chat or at all, of which something was shown. */
  lastAnswer(chatId?: string): BufferedMessage | undefined {
    return this.#buffers.messages.snapshot().findLast((message) => {
      const { role, synthetic, text } = message;
      const isAnswer = role === "ASSISTANT" && synthetic === null && text.trim() !== "";
      return isAnswer && (chatId === undefined || message.chatId === chatId);
    });
  }

  get stats(): MomentStats {
    const { messages, frames, audio, captured, now } = this.#buffers;
    this.#expire(now());
    // What moments share is counted once.
    const media = [...new Set(this.#held.flatMap(mediaOf))];
    return {
      messages: messages.count,
      frames: frames.count,
      audio_samples: audio.samples,
      audio_seconds: Math.round(audio.samples / 1_600) / 10,
      bytes: messages.bytes + frames.bytes + audio.bytes + captured.bytes,
      limits: bufferBounds,
      waiting: this.#held.length,
      pinned_bytes: media.reduce((sum, { byteLength }) => sum + byteLength, 0),
      consent: this.#consent,
    };
  }

  /**
   * Takes nothing in any more, ends post-rolls, and saves what waits for up to 4 s. What is left then is
   * lost: its receipts say `closed`. Calling it again does nothing more.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endCaptures();
    await this.#queue.close(closeMs);
  }

  /** Drops pictures and sound that are too old by now. */
  #expire(nowMs: number): void {
    this.#buffers.frames.expire(nowMs);
    this.#buffers.audio.expire(nowMs);
  }

  /** Moments that are captured, or wait to be saved. */
  get #held(): readonly Moment[] {
    return [...this.#captures.keys(), ...this.#queue.waiting];
  }

  /** Whether a moment may keep pictures and sound; it counts then. */
  #mayKeepMedia(nowMs: number): boolean {
    const lately = this.#media.filter((at) => nowMs - at < hourMs);
    const mayKeep = lately.length < maxMediaPerHour;
    this.#media = mayKeep ? [...lately, nowMs] : lately;
    return mayKeep;
  }

  /** There is no such moment any more, or never will be: its keys are free, and nothing repeats it. */
  #forgetReceipt(gone: Receipt): void {
    this.#receipts.delete(gone.id);
    this.#pats = this.#pats.filter(({ id }) => id !== gone.id);
  }

  #tell(what: News, receipt: Receipt): void {
    this.#options.onEvent?.({ type: `feedback.${what}`, receipt: receipt.toJSON() });
  }

  #capture(moment: Moment): void {
    this.#tell("accepted", moment.receipt);
    const { postRollMs } = moment.label;
    const end = () => this.#finish(moment);
    const later = () => this.#options.timers.after(postRollMs, end, { holdsProcess: true });
    this.#captures.set(moment, postRollMs > 0 ? later() : () => undefined);
    if (postRollMs === 0) end();
  }

  /** What is captured waits to be saved; once. */
  #finish(moment: Moment): void {
    const cancel = this.#captures.get(moment);
    if (cancel === undefined) return;
    this.#captures.delete(moment);
    cancel();
    endMoment(moment, this.#buffers);
    this.#queue.add(moment);
  }

  #endCaptures(): void {
    for (const moment of [...this.#captures.keys()]) this.#finish(moment);
  }
}

/** Whether a message is an answer of this turn, or a step of one. */
const ofAnswer = (chatId: string, turnId: string) => (message: BufferedMessage) =>
  message.chatId === chatId && message.turn_id === turnId && message.role !== "USER";
