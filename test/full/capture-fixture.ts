// A companion that keeps moments, for pages with a camera and a microphone; and what is looked at in
// the packages that come of them.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { systemClock } from "../../src/core/clock.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { momentsRoutes } from "../../src/moments/routes.ts";
import {
  type Moments,
  type MomentsOptions,
  startMoments,
} from "../../src/moments/start-moments.ts";
import type { Companion } from "../support/server-fixture.ts";
import { message, say, type Visit } from "./page-fixture.ts";

/** Chromium's own camera and microphone: a moving picture and a beep, without a question. */
export const fakeDevices = [
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
  "--autoplay-policy=no-user-gesture-required",
] as const;

export interface CaptureVisit extends Visit {
  readonly throughline: Throughline;
  readonly moments: Moments;
  /** Where the packages lie. */
  readonly feedback: string;
}

/** @param limits of the buffers; those that are left out are as people have them. */
export async function withMoments(
  t: TestContext,
  limits: MomentsOptions["limits"] = {},
): Promise<CaptureVisit> {
  const home = mkdtempSync(join(tmpdir(), "throughline-capture-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const target = { provider: "scripted", model: "scripted" };
  const throughline = await openThroughline({ home, ...target });
  const software = { name: "throughline", version: "0.0.0" };
  const moments = await startMoments(throughline, {
    sessionId: "a1b2c3d4",
    software,
    persona: "You are kind.",
    limits,
  });
  return {
    script: [["Knock, knock"], ["Who is there?"]],
    prepare: async () => undefined,
    options: { throughline, features: [momentsRoutes(moments)], clock: systemClock },
    path: "/moments",
    throughline,
    moments,
    feedback: join(home, "feedback"),
  };
}

export function light(page: Page) {
  return page.locator(".recording-light");
}

/** Reads what is asked, agrees, and waits for the light. */
export async function switchOn(page: Page, without: readonly string[] = []): Promise<void> {
  await page.getByRole("button", { name: "Turn on…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("the last two minutes of picture and sound").waitFor();
  for (const source of without) await dialog.getByLabel(source, { exact: true }).uncheck();
  await dialog.getByRole("button", { name: "I agree, turn on" }).click();
  await light(page).filter({ hasText: "Recording" }).waitFor();
}

/** Waits until the buffers hold that much. */
export async function filled(
  c: Companion,
  wanted: { readonly frames: number; readonly seconds: number },
  withinMs = 20_000,
): Promise<void> {
  const until = performance.now() + withinMs;
  for (;;) {
    const { frames, audio_seconds } = await c.get("/api/feedback/stats");
    if (frames >= wanted.frames && audio_seconds >= wanted.seconds) return;
    const held = `${frames} pictures, ${audio_seconds} s of sound`;
    assert.ok(performance.now() < until, `the buffers hold ${held}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Talks, likes the answer, and waits until it is kept. @returns its name. */
export async function praise(page: Page, c: Companion): Promise<string> {
  await page.getByRole("link", { name: "Talk", exact: true }).click();
  await say(page, "Tell me a joke");
  await message(page, "Knock, knock").waitFor();
  await message(page, "Knock, knock").hover();
  await message(page, "Knock, knock").getByRole("button", { name: "Good answer" }).click();
  await page.locator(".reaction-note").filter({ hasText: "Saved" }).waitFor();
  const { packages } = await c.get("/api/feedback");
  return packages[0].name;
}

export interface KeptMedia {
  readonly frames: readonly {
    readonly file: string;
    readonly t_ms: number;
    readonly seq: number;
    readonly width: number;
  }[];
  readonly audio: {
    readonly samples: number;
    readonly start_t_ms: number;
    readonly anchors: readonly { readonly sample: number; readonly t_ms: number }[];
    readonly gaps: readonly { readonly missing_ms: number }[];
  };
  readonly pcm: Int16Array;
  readonly folder: string;
}

/** A package as it lies on the disk, its sound read as any player reads it. */
export function keptMedia(feedback: string, name: string): KeptMedia {
  const folder = join(feedback, name);
  const { frames, audio } = JSON.parse(readFileSync(join(folder, "feedback.json"), "utf8"));
  const wav = readFileSync(join(folder, "audio.wav"));
  assert.equal(wav.toString("latin1", 0, 4) + wav.toString("latin1", 8, 16), "RIFFWAVEfmt ");
  assert.deepEqual(
    [wav.readUInt16LE(20), wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt16LE(34)],
    [1, 1, 16_000, 16],
  );
  assert.equal(wav.readUInt32LE(40), wav.length - 44);
  const pcm = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length));
  assert.equal(pcm.length, audio.samples);
  return { frames, audio, pcm, folder };
}

/** When a sample was, by the manifest's anchors. */
export function timeOf({ audio }: KeptMedia, sample: number): number {
  const anchor = audio.anchors.findLast((each) => each.sample <= sample);
  assert.ok(anchor, "the first anchor is at 0");
  return anchor.t_ms + (sample - anchor.sample) / 16;
}

/** Where sound begins after at least 100 ms of silence. */
export function onsets(pcm: Int16Array, loud = 6_000): number[] {
  const found: number[] = [];
  let quietSince = 0;
  for (const [at, sample] of pcm.entries()) {
    if (Math.abs(sample) < loud) continue;
    if (at - quietSince >= 1_600) found.push(at);
    quietSince = at;
  }
  return found;
}

const bits = 16;
const blockPx = 20;

/**
 * Runs inside the page: a camera and a microphone that tell the same time. The picture shows it as 16
 * black and white blocks, in units of 10 ms. The sound clicks about once a second, and `clicks` has when
 * it truly did: where the machine is busy audio threads stand still, and nothing can be set for a time.
 */
const devices = () => {
  // biome-ignore lint/suspicious/noExplicitAny: a page's globals, which tests have no types of.
  const all = globalThis as any;
  const { AudioContext, AudioWorkletNode, MediaStream, MediaStreamTrackGenerator } = all;
  const { VideoFrame, document } = all;
  // Runs in an audio thread: a click of 10 ms each second, and when it was, on the wall. A block can be
  // late, not early: the one of the next 100 ms that waited least tells.
  const clicker = `
    registerProcessor("clicking", class extends AudioWorkletProcessor {
      nextMs = Date.now() + 1000;
      click = undefined;
      process(inputs, [[output]]) {
        const nowMs = Date.now();
        if (this.click === undefined && nowMs >= this.nextMs) {
          this.nextMs += 1000 * Math.ceil((nowMs - this.nextMs + 1) / 1000);
          this.click = { frame: currentFrame, aheadMs: Infinity };
        }
        if (this.click === undefined) return true;
        const count = currentFrame - this.click.frame;
        for (let at = 0; at < output.length && count + at < sampleRate / 100; at++) {
          output[at] = at % 32 < 16 ? 0.8 : -0.8;
        }
        const endMs = (count + output.length) * 1000 / sampleRate;
        this.click.aheadMs = Math.min(this.click.aheadMs, nowMs - endMs);
        if (endMs < 100) return true;
        this.port.postMessage(this.click.aheadMs);
        this.click = undefined;
        return true;
      }
    });`;
  all.clicks = [];
  all.navigator.mediaDevices.getUserMedia = async (wanted: { video: unknown; audio: unknown }) => {
    const begunMs = performance.now();
    const context = new AudioContext();
    const script = new Blob([clicker], { type: "text/javascript" });
    await context.audioWorklet.addModule(URL.createObjectURL(script));
    await context.resume();
    const sound = context.createMediaStreamDestination();
    const clicking = new AudioWorkletNode(context, "clicking", { numberOfInputs: 0 });
    clicking.port.onmessage = ({ data: wallMs }: { data: number }) =>
      all.clicks.push(wallMs - (Date.now() - performance.now()) - begunMs);
    clicking.connect(sound);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [320, 64];
    const drawing = canvas.getContext("2d");
    // As a camera does it, each picture tells when it was taken, however late it is handed on.
    const camera = new MediaStreamTrackGenerator({ kind: "video" });
    const pictures = camera.writable.getWriter();
    const draw = async () => {
      const nowMs = performance.now();
      const units = Math.floor((nowMs - begunMs) / 10);
      for (let bit = 0; bit < 16; bit++) {
        if (drawing === null) return;
        drawing.fillStyle = (units >> bit) % 2 === 1 ? "white" : "black";
        drawing.fillRect(bit * 20, 0, 20, 64);
      }
      await pictures.write(new VideoFrame(canvas, { timestamp: nowMs * 1_000 }));
      setTimeout(() => void draw(), 66);
    };
    if (wanted.video) void draw();
    const tracks = [
      ...(wanted.video ? [camera] : []),
      ...(wanted.audio ? sound.stream.getAudioTracks() : []),
    ];
    return new MediaStream(tracks);
  };
};

/** What a visit takes to have these as its camera and microphone. The policy allows no worklet of ours. */
export const clockDevices = { inject: devices, browser: { bypassCSP: true } };

/** When the sound of `clockDevices` clicked, on the clock that its pictures show; else nothing. */
export async function clicksOf(page: Page): Promise<readonly number[]> {
  return (await page.evaluate("globalThis.clicks ?? []")) as number[];
}

/** What time a picture of `clockDevices` shows, in milliseconds. */
export async function shownTime(jpeg: string): Promise<number> {
  const { data, info } = await sharp(jpeg).greyscale().raw().toBuffer({ resolveWithObject: true });
  const row = Math.floor(info.height / 2) * info.width;
  const scale = info.width / (bits * blockPx);
  let units = 0;
  for (let bit = 0; bit < bits; bit++) {
    const column = Math.floor((bit + 0.5) * blockPx * scale);
    if ((data[row + column] ?? 0) > 127) units += 2 ** bit;
  }
  return units * 10;
}

/**
 * By how much each picture is away from the sound around it, by the manifest alone: the middle one of
 * the clicks within 2 s tells.
 *
 * @param clicks when they were, on the clock that the pictures show.
 */
export async function misalignment(media: KeptMedia, clicks: readonly number[]): Promise<number[]> {
  const pictures = await Promise.all(
    media.frames.map(async ({ file, t_ms }) => {
      return { t_ms, begunMs: t_ms - (await shownTime(join(media.folder, file))) };
    }),
  );
  const begunMs = middle(pictures.map((picture) => picture.begunMs));
  const heard = onsets(media.pcm).flatMap((sample) => {
    const t_ms = timeOf(media, sample);
    const away = clicks.map((click) => t_ms - click).filter((ms) => Math.abs(ms - begunMs) < 500);
    return away.length === 1 ? [{ t_ms, begunMs: away[0] ?? 0 }] : [];
  });
  return pictures.flatMap((picture) => {
    const near = heard.filter(({ t_ms }) => Math.abs(t_ms - picture.t_ms) <= 2_000);
    const apart = near.map((click) => picture.begunMs - click.begunMs);
    return apart.length < 2 ? [] : [middle(apart)];
  });
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
