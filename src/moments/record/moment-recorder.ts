import { ThroughlineError } from "../../core/errors.ts";
import {
  makeUuidV7,
  packageId,
  packageName,
  packageStamp,
  sentimentOf,
} from "../package/package-name.ts";
import type { Consent, Reduced, StreamName } from "../package/record.ts";
import { type AudioPush, buffersOf, type FramePush, type MomentBuffers } from "./buffers.ts";
import type { Received } from "./capture-clock.ts";
import { type ConsentInput, checkConsent, laterConsent } from "./consent.ts";
import type { FrameFacts, PushResult } from "./frame-buffer.ts";
import { isDimension } from "./jpeg.ts";
import { judgedMessages, withoutWords } from "./judged-messages.ts";
import { checkLabel, type MomentInput } from "./label.ts";
import { bufferBounds } from "./limits.ts";
import type { BufferedMessage, NewMessage } from "./message-buffer.ts";
import { Moment, type MomentFacts } from "./moment.ts";
import {
  type MomentRecorderOptions,
  type RawFrame,
  type RecorderSettings,
  recorderSettings,
} from "./options.ts";
import { type AudioChunk, samplesOfBytes } from "./pcm.ts";
import { Receipt, refused } from "./receipt.ts";
import { bytesOfKey, RecentMoments, targetKey } from "./recent-moments.ts";
import { SaveQueue } from "./save-queue.ts";

const closeMs = 4_000;
/** How many moments may wait to be saved. */
const maxWaiting = 4;
/** How many bytes of pictures and sound they may hold together, what they share counted once. */
const maxPinnedBytes = 80_000_000;
/** Of a JPEG. Source: the original's `cv2.imencode`. */
const quality = 85;

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
 * never wait; `record()` takes references, copies nothing, and goes on.
 */
export class MomentRecorder {
  readonly #options: RecorderSettings;
  readonly #buffers: MomentBuffers;
  readonly #queue: SaveQueue;
  readonly #recent = new RecentMoments();
  readonly #live = new Map<string, () => unknown>();
  readonly #captures = new Map<Moment, () => void>();
  #consent: Consent;
  #isEncoding = false;
  /** How often words of a chat were removed: what was read of one before may hold them. */
  removals = 0;
  #isClosed = false;

  /** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
  constructor(options: MomentRecorderOptions) {
    this.#options = recorderSettings(options);
    const { consent } = this.#options;
    this.#buffers = buffersOf(this.#options);
    this.#consent = consent;
    const told = (what: "durable" | "failed" | "discarded" | "uploaded", receipt: Receipt) => {
      if (what === "durable") this.#recent.remember(receipt);
      if (what === "discarded") this.#recent.forget(receipt);
      this.#options.onEvent({ type: `feedback.${what}`, receipt: receipt.toJSON() });
    };
    this.#queue = new SaveQueue({ ...this.#options, told });
  }

  /**
   * Feeds a message, or what has become of one.
   *
   * @returns whether it was kept: not without consent, not after `close()`.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_TOO_LARGE`
   */
  message(message: NewMessage): boolean {
    if (this.#isClosed || !this.#consent.messages) return false;
    this.#buffers.messages.push(message, this.#buffers.clock.now());
    return true;
  }

  /** Feeds a picture as JPEG. */
  frame(jpeg: Uint8Array, push: FramePush = {}): PushResult {
    if (this.#isClosed) return "closed";
    if (!this.#consent.frames) return "off";
    return this.#buffers.frames.push(jpeg, this.#facts(push));
  }

  /**
   * Feeds a raw picture, which the encoder makes a JPEG of, one at a time. Do not write to its bytes
   * before this resolves. A picture is dropped if the consent changes before. One that cannot be encoded is
   * `not_jpeg`.
   */
  async rawFrame(frame: RawFrame, push: FramePush = {}): Promise<PushResult> {
    if (this.#isClosed) return "closed";
    const consent = this.#consent;
    if (!consent.frames) return "off";
    const { encoder } = this.#options;
    const { frames } = this.#buffers;
    const facts = this.#facts(push);
    if (encoder === undefined || !isRawFrame(frame)) return "format";
    if (this.#isEncoding) return "busy";
    if (!frames.isDue(facts)) return "throttled";
    this.#isEncoding = true;
    try {
      const jpeg = await encoder.encode(frame, quality);
      const isWanted = !this.#isClosed && this.#consent === consent;
      return isWanted ? frames.push(jpeg, facts) : "off";
    } catch {
      return "not_jpeg";
    } finally {
      this.#isEncoding = false;
    }
  }

  #facts({ camera, sourceMs = Number.NaN }: FramePush): FrameFacts {
    const known = Number.isFinite(sourceMs) ? sourceMs : null;
    return { ...this.#buffers.clock.now(), camera: camera ?? null, sourceMs: known };
  }

  /** Feeds sound: float32 or 16 bits, 16 kHz mono. */
  audio(chunk: AudioChunk, push: AudioPush = {}): PushResult {
    if (this.#isClosed) return "closed";
    if (!this.#consent.audio) return "off";
    const { encoding = "s16le", sourceMs } = push;
    const fed = chunk instanceof Uint8Array ? samplesOfBytes(chunk, encoding) : chunk;
    if (fed === undefined) return "format";
    this.#buffers.audio.push(fed, { ...this.#buffers.clock.now(), sourceMs });
    return "accepted";
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
    const { people, clock } = this.#buffers;
    if (!this.#isClosed) people.set(person, clock.now().ageMs);
  }

  get consent(): Consent {
    return this.#consent;
  }

  /** How many pictures and chunks of sound came since the start, kept or too soon. */
  get fed(): { readonly frames: number; readonly audio: number } {
    const { frames, audio } = this.#buffers;
    return { frames: frames.fed, audio: audio.fed };
  }

  /**
   * From now on this is agreed to, and nothing else. What is withdrawn ends post-rolls, which are
   * saved with what they have, and empties that stream at once.
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
    const streams: readonly StreamName[] = ["messages", "frames", "audio"];
    const withdrawn = streams.filter((stream) => this.#consent[stream] && !consent[stream]);
    if (withdrawn.length > 0) this.#endCaptures();
    for (const stream of withdrawn) this.#buffers[stream].clear();
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
    const wallMs = this.#options.clock.now();
    const { idempotencyKey: key } = input;
    // A key makes the same id in every run, so that what it recorded is found again.
    const uuid = makeUuidV7(wallMs, key === undefined ? this.#options.random : bytesOfKey(key));
    const first = this.#recent.receipt(uuid) ?? this.#ofEarlierRun(uuid);
    if (first !== undefined) {
      if (sentimentOf(first.name) === label.sentiment) return first;
      throw new ThroughlineError("this id was used for a reaction of the other sentiment", {
        code: "THROUGHLINE_ID_CONFLICT",
      });
    }
    const received = this.#buffers.clock.now();
    const name = packageName(packageStamp(wallMs), label.sentiment, uuid);
    const names = { id: packageId(uuid), name };
    if (this.#isClosed) return refused(names, "closed");
    this.#expire(received.ageMs);
    const now = { ...received, wallMs };
    const words = this.#consent.messages
      ? judgedMessages(this.#buffers.messages.snapshot(), input, label, now)
      : judgedMessages([], withoutWords(input), label, now);
    const pat = {
      ageMs: received.ageMs,
      sentiment: label.sentiment,
      target: targetKey(words),
    };
    const isPat = label.channel === "touch" || label.source === "auto";
    const repeated = isPat ? this.#recent.duplicateOf(pat) : undefined;
    if (repeated !== undefined) return refused(names, "duplicate", repeated);
    if (this.#isFull) return refused(names, "busy");
    const reduced = words.reduced ?? this.#reduced(received);
    for (const [name, read] of this.#live) this.#buffers.captured.set(name, read());
    const state = { ...names, accepted: true, durable: false, uploaded: false };
    const kept = reduced === null ? state : { ...state, reduced };
    const receipt = new Receipt(kept, this.#options.uploads);
    const known = { ...words, ...received, wallMs, uuid, label, input, reduced };
    const trigger = { ...known, consent: this.#consent };
    this.#capture(new Moment(receipt, trigger, this.#buffers, this.#options));
    this.#recent.remember(receipt);
    if (isPat) this.#recent.rememberPat({ ...pat, id: names.id });
    return receipt;
  }

  /** What was uploaded later: its receipt tells so, if it is of this run. */
  uploaded(name: string): void {
    const receipt = this.#recent.receipt(name);
    if (receipt === undefined || receipt.uploaded) return;
    receipt.update({ uploaded: true });
    this.#options.onEvent({ type: "feedback.uploaded", receipt: receipt.toJSON() });
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

  /** The answer of a turn is regenerated: removes the previous answers from the buffers. */
  regenerates(chatId: string, turnId: string): void {
    this.#buffers.messages.remove((message) => {
      return message.chatId === chatId && message.turn_id === turnId && message.role !== "USER";
    });
  }

  /** These packages were deleted: their keys are free, and nothing repeats them. */
  deleted(names: readonly string[]): void {
    for (const name of names) {
      const receipt = this.#recent.receipt(name);
      if (receipt !== undefined) this.#recent.forget(receipt);
    }
  }

  /** The chats of what is said in the buffers, and of moments that are not saved yet. */
  get chatIds(): ReadonlySet<string> {
    const said = this.#buffers.messages.snapshot().map(({ chatId }) => chatId);
    const held = this.#held.map(({ trigger }) => trigger.chatId);
    return new Set([...said, ...held].filter((chatId) => chatId !== null));
  }

  /** Forgets what was said in any chat, but for moments that are recorded. */
  forgetWords(): void {
    this.#buffers.messages.remove(({ chatId }) => chatId !== null);
  }

  /** Removes moments that are not saved yet; resolves as `forgetChat` does. */
  async forget(holds: (facts: MomentFacts) => boolean): Promise<void> {
    for (const moment of [...this.#captures.keys()]) {
      if (holds(moment.facts)) this.#finish(moment);
    }
    await this.#queue.forget(({ facts }) => holds(facts));
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
    const { messages, frames, audio, captured, clock } = this.#buffers;
    this.#expire(clock.now().ageMs);
    return {
      messages: messages.count,
      frames: frames.count,
      audio_samples: audio.samples,
      audio_seconds: Math.round(audio.samples / 1_600) / 10,
      bytes: messages.bytes + frames.bytes + audio.bytes + captured.bytes,
      limits: bufferBounds,
      waiting: this.#held.length,
      pinned_bytes: this.#pinnedBytes(),
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
  #expire(ageMs: number): void {
    this.#buffers.frames.expire(ageMs);
    this.#buffers.audio.expire(ageMs);
  }

  /** Of the package that an earlier run made under this id. */
  #ofEarlierRun(uuid: string): Receipt | undefined {
    const known = this.#options.known(packageId(uuid));
    if (known === undefined) return undefined;
    const receipt = new Receipt(known, this.#options.uploads);
    receipt.update({});
    return receipt;
  }

  get #isFull(): boolean {
    const waiting = this.#held.length;
    const more = this.#buffers.frames.bytes + this.#buffers.audio.bytes;
    return waiting >= maxWaiting || (waiting > 0 && this.#pinnedBytes() + more > maxPinnedBytes);
  }

  /** Moments that are captured, or wait to be saved. */
  get #held(): readonly Moment[] {
    return [...this.#captures.keys(), ...this.#queue.waiting];
  }

  /** Counts what moments share once. */
  #pinnedBytes(): number {
    const media = new Set(this.#held.flatMap((moment) => moment.media));
    return [...media].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  #reduced({ ageMs }: Received): Reduced | null {
    const { frames, audio } = this.#buffers;
    const hasMedia = frames.count > 0 || audio.samples > 0;
    if (hasMedia && !this.#recent.mayKeepMedia(ageMs)) return "rate_cap";
    return this.#consent.messages ? null : "consent";
  }

  #capture(moment: Moment): void {
    const { receipt, trigger } = moment;
    this.#options.onEvent({ type: "feedback.accepted", receipt: receipt.toJSON() });
    const { postRollMs } = trigger.label;
    const end = () => this.#finish(moment);
    const cancel =
      postRollMs > 0 && this.#options.timers.after(postRollMs, end, { holdsProcess: true });
    this.#captures.set(moment, cancel || (() => undefined));
    if (postRollMs === 0) end();
  }

  /** What is captured waits to be saved; once. */
  #finish(moment: Moment): void {
    const cancel = this.#captures.get(moment);
    if (cancel === undefined) return;
    this.#captures.delete(moment);
    cancel();
    moment.end();
    this.#queue.add(moment);
  }

  #endCaptures(): void {
    for (const moment of [...this.#captures.keys()]) this.#finish(moment);
  }
}

function isRawFrame({ data, width, height, channels }: RawFrame): boolean {
  const isSized = isDimension(width) && isDimension(height) && (channels === 3 || channels === 4);
  return isSized && data.length === width * height * channels;
}
