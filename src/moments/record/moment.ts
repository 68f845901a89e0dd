// A moment from its trigger until it is saved. What the buffers held at the trigger, and what a post-roll adds, is
// held by reference; it becomes a package when it is saved, because the person who reacts does not wait for it.
import { attachmentLimits, attachmentsOf, tokensOf } from "../../core/chat/attachments.ts";
import type { Clock } from "../../core/clock.ts";
import { audioFormat, frameFile } from "../package/content.ts";
import { packageStamp } from "../package/package-name.ts";
import type { SealedMoment } from "../package/package-sink.ts";
import {
  type Consent,
  feedbackSchema,
  type PackageMessage,
  type PackageOwners,
  type PackageRecord,
  type Reduced,
} from "../package/record.ts";
import type { MomentBuffers } from "./buffers.ts";
import { effectiveConsent } from "./consent.ts";
import type { Label, MomentInput } from "./label.ts";
import { type BufferedAudio, type BufferedFrame, joinedPcm, millisOf } from "./media.ts";
import { draftMessage } from "./messages.ts";
import type { Receipt } from "./receipt.ts";
import { limits, millis, seconds, type Zero } from "./ring.ts";
import { isOfChat, type JudgedMessages, type TargetTurn } from "./target-turn.ts";

/** Reads a file that was sent in a chat; `undefined`: it is not there. */
export type ReadFile = (chatId: string, sha256: string) => Promise<Uint8Array | undefined>;

export interface Moment extends JudgedMessages {
  readonly receipt: Receipt;
  readonly zero: Zero;
  readonly uuid: string;
  readonly label: Label;
  readonly input: MomentInput;
  readonly consent: Consent;
  readonly reduced: Reduced | null;
  /** Of the newest message in the buffers at the trigger. */
  readonly lastSeq: number;
  messages: readonly PackageMessage[];
  frames: readonly BufferedFrame[];
  audio: readonly BufferedAudio[];
  /** What its end has added. */
  ended: ReturnType<typeof endOf> | undefined;
  whole: SealedMoment | undefined;
}

/** Whose a moment is that is not saved yet. */
export interface MomentFacts extends PackageOwners {
  readonly name: string;
}

/** Whether a moment holds pictures and sound: none of another time, and none beyond the limit of an hour. */
const hasMedia = ({ reduced }: Pick<Moment, "reduced">) =>
  reduced === null || reduced === "consent";

/** Holds what the buffers have now. */
export function beginMoment(
  trigger: Omit<Moment, "frames" | "audio" | "ended" | "whole">,
  buffers: MomentBuffers,
): Moment {
  const [frames, audio] = hasMedia(trigger)
    ? [buffers.frames.snapshot(), buffers.audio.snapshot()]
    : [[], []];
  return { ...trigger, frames, audio, ended: undefined, whole: undefined };
}

/** Ends the post-roll now: from here on the moment holds all that it will have. */
export function endMoment(moment: Moment, buffers: MomentBuffers): void {
  const { zero, label } = moment;
  const passedMs = Math.max(buffers.now() - zero.atMs, 0);
  const postMs = Math.min(passedMs, label.postRollMs);
  if (postMs > 0) roll(moment, buffers, zero.atMs + postMs);
  moment.ended = endOf(moment, buffers, postMs);
}

/** Adds what came after the trigger. */
function roll(moment: Moment, { frames, audio, messages }: MomentBuffers, endMs: number): void {
  const { lastSeq, chatId, from, consent, zero } = moment;
  const isLater = (held: readonly { readonly seq: number }[]) => {
    const last = held.at(-1)?.seq ?? 0;
    return ({ seq, atMs }: BufferedFrame | BufferedAudio) => seq > last && atMs <= endMs;
  };
  if (hasMedia(moment)) {
    moment.frames = [...moment.frames, ...frames.snapshot().filter(isLater(moment.frames))];
    const last = moment.audio.at(-1);
    const grown = audio.snapshot().filter(({ seq, atMs }) => seq === last?.seq && atMs <= endMs);
    const held = grown.length > 0 ? [...moment.audio.slice(0, -1), ...grown] : moment.audio;
    moment.audio = [...held, ...audio.snapshot().filter(isLater(held))];
  }
  if (from === "transcript" || !consent.messages) return;
  const later = messages.snapshot().filter((message) => {
    const { seq, atMs } = message;
    const isInTime = atMs > zero.atMs && atMs <= endMs;
    return seq > lastSeq && isInTime && isOfChat(message, chatId);
  });
  moment.messages = [...moment.messages, ...later.map((message) => draftMessage(message, zero))];
}

function endOf(moment: Moment, buffers: MomentBuffers, postMs: number) {
  const { zero, input, consent, frames, audio } = moment;
  const captured = buffers.captured.snapshot();
  // Those of what was said last, which need not be who gave an answer of before.
  const { provider = null, model = null } = input.transcript === undefined ? captured : {};
  const firstMs = (frames[0]?.atMs ?? zero.atMs) - zero.atMs;
  return {
    preMs: -Math.min(0, firstMs, soundOf(audio, zero)?.start_t_ms ?? 0),
    postMs,
    people: peopleOf(moment, buffers),
    latched: consent.messages ? captured : {},
    provider: input.provider ?? (typeof provider === "string" ? provider : null),
    model: input.model ?? (typeof model === "string" ? model : null),
  };
}

/** Who was there: told where somebody may be seen or heard. */
function peopleOf({ zero, consent }: Moment, { people }: MomentBuffers): readonly string[] {
  if (!consent.frames && !consent.audio) return [];
  const since = zero.atMs - limits.mediaAgeMs;
  return [...people].flatMap(([name, at]) => (at >= since ? [name] : [])).sort();
}

/** The pictures and pieces of sound that a moment holds in memory. */
export function mediaOf({ frames, audio }: Moment): readonly ArrayBufferView[] {
  return [...frames.map(({ jpeg }) => jpeg), ...audio.map(({ pcm }) => pcm)];
}

export function factsOf(moment: Moment, buffers: MomentBuffers): MomentFacts {
  const { receipt, chatId, ended, messages } = moment;
  const people = ended?.people ?? peopleOf(moment, buffers);
  return { name: receipt.name, chat_id: chatId, people, messages: messages.map(({ id }) => id) };
}

/** The sound as one piece: its time is that of the newest sample, less the time of all of them. */
function soundOf(pieces: readonly BufferedAudio[], zero: Zero) {
  const newest = pieces.at(-1);
  if (newest === undefined) return null;
  const { sourceEndMs } = newest;
  const samples = pieces.reduce((sum, { pcm }) => sum + pcm.length, 0);
  const lastsMs = millisOf(samples);
  return {
    samples,
    start_t_ms: millis(newest.atMs - lastsMs - zero.atMs),
    source_t_ms: sourceEndMs === null ? null : sourceEndMs - lastsMs,
  };
}

interface Sealing {
  readonly sessionId: string;
  readonly software: PackageRecord["software"];
  readonly clock: Clock;
  readonly readFile: ReadFile;
}

/** Makes a moment whole, the same one each time. Its files are read each time, so that none is held while it waits. */
export async function sealMoment(moment: Moment, settings: Sealing): Promise<SealedMoment> {
  moment.whole ??= sealed(moment, settings);
  return { ...moment.whole, attachments: await sentFiles(moment.whole, settings.readFile) };
}

/** Makes it whole: counts, indexes and ranges follow from what it holds. */
function sealed(
  { receipt, label, input, zero, ended, target, messages, frames, audio, ...moment }: Moment,
  { sessionId, software, clock }: Sealing,
): SealedMoment {
  if (ended === undefined) throw new Error("the moment has not ended");
  const { postRollMs: _, ...judgement } = label;
  const { triggerTurn } = target;
  const asked = messages.findIndex(({ id }) => id === triggerTurn?.message_id);
  const sound = soundOf(audio, zero);
  const record: PackageRecord = {
    ...judgement,
    id: receipt.id,
    name: receipt.name,
    uuid: moment.uuid,
    schema: feedbackSchema,
    timestamp: seconds(zero.wallMs),
    timestamp_str: packageStamp(zero.wallMs),
    software,
    session_id: sessionId,
    sealed_timestamp: seconds(clock.now()),
    chat_id: moment.chatId,
    people: ended.people,
    latched: ended.latched,
    provider: ended.provider,
    model: ended.model,
    matched: input.matched ?? [],
    supersedes: input.supersedes ?? null,
    trace: null,
    redactions: [],
    consent: effectiveConsent(moment.consent),
    reduced: moment.reduced,
    window: {
      pre_ms: millis(ended.preMs),
      post_ms: millis(ended.postMs),
      from: moment.from,
      first_seq: messages[0]?.seq ?? null,
      last_seq: messages.at(-1)?.seq ?? null,
    },
    num_messages: messages.length,
    num_frames: frames.length,
    audio_chunks: audio.reduce((sum, { chunks }) => sum + chunks, 0),
    audio_samples: sound?.samples ?? 0,
    target: placedTarget(target.judged, messages),
    target_reason: target.reason,
    trigger_turn: triggerTurn && { ...triggerTurn, index: asked < 0 ? null : asked },
    frames: frames.map(({ atMs, seq, width, height, camera, sourceMs: source_t_ms }, index) => {
      const t = atMs - zero.atMs;
      const times = { t_ms: millis(t), timestamp: seconds(zero.wallMs + t) };
      return { file: frameFile(index), ...times, seq, width, height, camera, source_t_ms };
    }),
    audio: sound && { ...audioFormat, ...sound },
  };
  return {
    record,
    messages,
    frames: frames.map(({ jpeg }) => jpeg),
    audio: sound && joinedPcm(audio.map(({ pcm }) => pcm)),
  };
}

function placedTarget(
  judged: TargetTurn["judged"],
  messages: readonly PackageMessage[],
): PackageRecord["target"] {
  if (judged === null) return null;
  const isJudged = ({ id }: PackageMessage) => judged.message_ids.includes(id);
  const index = messages.findIndex(isJudged);
  return { ...judged, index, count: messages.findLastIndex(isJudged) - index + 1 };
}

/**
 * Reads what a model can have got of the files of messages: the newest first, at most 20 MiB in all. A moment
 * that is one too many in its hour keeps their names alone.
 */
async function sentFiles(
  { record, messages }: SealedMoment,
  read: ReadFile,
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
