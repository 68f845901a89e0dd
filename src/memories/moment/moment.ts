// The moment: what led to a reaction. Two minutes of words, pictures and sound in RAM, sealed as a
// package when somebody reacts.

export { type AutoEvent, AutoRecord } from "./auto-record.ts";
export type { AudioPush, FramePush, Resample, SourceTime } from "./buffers.ts";
export { type ConsentInput, consentWording } from "./consent.ts";
export type { DraftAudio, DraftFrame, MomentContent, Redact } from "./draft.ts";
export type { PushResult } from "./frame-buffer.ts";
export type { MomentInput, TranscriptMessage } from "./label.ts";
export type { BufferLimits } from "./limits.ts";
export type { NewMessage } from "./message-buffer.ts";
export { type MomentFacts, MomentRecorder, type MomentStats } from "./moment-recorder.ts";
export type { MomentEvent, MomentRecorderOptions } from "./options.ts";
export type { AudioChunk } from "./pcm.ts";
export type { FrameEncoder, RawFrame } from "./raw-frames.ts";
export type { Receipt, ReceiptReason, ReceiptState } from "./receipt.ts";
export {
  patHint,
  patHintKind,
  reactionsPrompt,
  rememberSkills,
  type Skill,
  type SkillCall,
} from "./skills.ts";
