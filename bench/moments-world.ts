// A recorder whose buffers are full, and what it is fed with.
import { type Clock, systemClock } from "../src/core/clock.ts";
import { silentLogger } from "../src/core/logger.ts";
import { openThroughline } from "../src/core/throughline.ts";
import { systemTimers } from "../src/core/timers.ts";
import type { PackageSink } from "../src/moments/package/package-sink.ts";
import type { MomentInput } from "../src/moments/record/label.ts";
import type { PushResult } from "../src/moments/record/media.ts";
import { MomentRecorder } from "../src/moments/record/moment-recorder.ts";
import { startMoments } from "../src/moments/start-moments.ts";
import { redJpeg } from "../test/support/feedback-packages.ts";
import { agreed, sessionId, software } from "../test/support/moments-home.ts";

const frameBytes = 50_000;
const chunkSamples = 320;
const chunkMs = 20;

/** The system's clock, which costs what it costs, and time that passes at once. */
export class AheadClock implements Clock {
  #aheadMs = 0;
  now = () => systemClock.now() + this.#aheadMs;
  monotonic = () => systemClock.monotonic() + this.#aheadMs;
  bootId = () => systemClock.bootId?.();
  uptimeMs = () => {
    const uptimeMs = systemClock.uptimeMs?.();
    return uptimeMs === undefined ? undefined : uptimeMs + this.#aheadMs;
  };
  pass(ms: number): void {
    this.#aheadMs += ms;
  }
}

/** A picture of so many bytes, whole in its structure: its scan is noise. */
function jpegOf(bytes: number): Uint8Array {
  const scan = redJpeg.indexOf(Uint8Array.of(0xff, 0xda));
  const head = redJpeg.subarray(0, scan + 2 + redJpeg.readUInt16BE(scan + 2));
  const noise = new Uint8Array(bytes - head.length - 2);
  globalThis.crypto.getRandomValues(noise);
  // A marker within would end it.
  return Buffer.concat([head, noise.map((byte) => Math.min(byte, 0xfe)), Buffer.of(0xff, 0xd9)]);
}

const words = "the grey whale swims from the north to the warm bays each winter ";
const jpeg = jpegOf(frameBytes);
const sound = {
  int16: Int16Array.from({ length: chunkSamples }, (_, at) => Math.sin(at / 7) * 9_000),
  float32: Float32Array.from({ length: chunkSamples }, (_, at) => Math.sin(at / 7) / 3),
};

export type Sound = keyof typeof sound;

export interface FullRecorder {
  readonly recorder: MomentRecorder;
  readonly clock: AheadClock;
  /** 20 ms pass: feeds their sound, and every half a second a picture. @returns what each took. */
  feed(kind: Sound): { readonly soundMs: number; readonly frameMs: number | undefined };
}

/** 50 messages of 2,000 characters, 240 pictures of 50 KB, 120 s of sound fed in chunks of 20 ms. */
export function fullRecorder(sink: PackageSink): FullRecorder {
  const clock = new AheadClock();
  const ports = { sink, clock, timers: systemTimers, logger: silentLogger };
  return filled(new MomentRecorder({ ...ports, ...recording }), clock);
}

/** The same in a home, as a program has it. */
export async function fullMoments(home: string): Promise<FullRecorder & AsyncDisposable> {
  const clock = new AheadClock();
  const throughline = await openThroughline({ home, clock });
  const { recorder } = await startMoments(throughline, recording);
  const close = { [Symbol.asyncDispose]: () => throughline.close() };
  return { ...filled(recorder, clock), ...close };
}

const recording = { sessionId, software, consent: agreed };

function filled(recorder: MomentRecorder, clock: AheadClock): FullRecorder {
  let chunks = 0;
  const feed = (kind: Sound) => {
    clock.pass(chunkMs);
    const soundMs = timed(() => recorder.audio(sound[kind]));
    const frameMs = ++chunks % 25 === 0 ? timed(() => recorder.frame(jpeg)) : undefined;
    return { soundMs, frameMs };
  };
  recorder.capture("system_prompt", words.repeat(100));
  for (let i = 0; i < 6_000; i++) feed("int16");
  for (let i = 0; i < 50; i++) {
    const [role, turnId] = [i % 2 === 0 ? "user" : "assistant", `t${i >> 1}`] as const;
    recorder.message({ role, text: words.repeat(31), id: `m${i}`, chatId: "a", turnId });
  }
  return { recorder, clock, feed };
}

function timed(work: () => PushResult): number {
  const started = performance.now();
  const result = work();
  const took = performance.now() - started;
  if (result !== "accepted") throw new Error(`the bench's feed was ${result}`);
  return took;
}

export const praise: MomentInput = {
  sentiment: "positive",
  what: "a joke",
  source: "http",
  chatId: "a",
};
