// A companion that keeps moments, for pages with a camera and a microphone; and what is looked at in
// the packages that come of them.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { systemClock } from "../../src/clock.ts";
import { feedTurns } from "../../src/runtime/moment-feed.ts";
import { openThroughline } from "../../src/throughline.ts";
import type { Companion } from "../server-fixture.ts";
import { message, say, type Visit } from "./page-fixture.ts";

/** Chromium's own camera and microphone: a moving picture and a beep, without a question. */
export const fakeDevices = [
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
  "--autoplay-policy=no-user-gesture-required",
] as const;

export interface CaptureVisit extends Visit {
  /** Where the packages lie. */
  readonly feedback: string;
}

export async function withMoments(t: TestContext): Promise<CaptureVisit> {
  const home = mkdtempSync(join(tmpdir(), "throughline-capture-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const target = { provider: "scripted", model: "scripted" };
  const throughline = await openThroughline({ home, ...target });
  const software = { name: "throughline", version: "0.0.0" };
  const moments = await throughline.startMoments({ sessionId: "a1b2c3d4", software });
  return {
    script: [["Knock, knock"], ["Who is there?"]],
    prepare: async ({ turns }: Companion) => {
      feedTurns(turns, moments.recorder, "You are kind.");
    },
    options: { throughline, moments, clock: systemClock },
    path: "/moments",
    feedback: join(home, "feedback"),
  };
}

export function light(page: Page) {
  return page.locator(".recording-light");
}

/** Reads what is asked, agrees, and waits for the light. */
export async function switchOn(page: Page, without: readonly string[] = []): Promise<void> {
  await page.getByRole("button", { name: "Switch on…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("the last two minutes of picture and sound").waitFor();
  for (const source of without) await dialog.getByLabel(source, { exact: true }).uncheck();
  await dialog.getByRole("button", { name: "I agree: switch on" }).click();
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
  await message(page, "Knock, knock").getByRole("button", { name: "I liked this" }).click();
  await page.locator(".reaction-note").filter({ hasText: "Kept" }).waitFor();
  const { packages } = await c.get("/api/feedback");
  return packages[0].name;
}

export async function faults(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
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
 * black and white blocks, in units of 10 ms; the sound clicks at each full second of it.
 */
export const clockDevices = () => {
  // biome-ignore lint/suspicious/noExplicitAny: a page's globals, which tests have no types of.
  const all = globalThis as any;
  const { AudioContext, AudioBufferSourceNode, MediaStream, MediaStreamTrackGenerator } = all;
  const { VideoFrame, document } = all;
  all.navigator.mediaDevices.getUserMedia = async (wanted: { video: unknown; audio: unknown }) => {
    const context = new AudioContext();
    await context.resume();
    const sound = context.createMediaStreamDestination();
    const click = context.createBuffer(1, context.sampleRate / 100, context.sampleRate);
    const samples = click.getChannelData(0);
    for (let at = 0; at < samples.length; at++) samples[at] = at % 32 < 16 ? 0.8 : -0.8;
    // Without anything that sounds the rest of the last click would come with the next.
    const steady = context.createConstantSource();
    steady.offset.value = 0;
    steady.connect(sound);
    steady.start();
    const begunMs = performance.now() + 500;
    // Each click is set anew: on a busy machine the audio thread falls behind the clock. What it says
    // of its time is old by some milliseconds, never early: the greatest distance of a second is true.
    let next = 0;
    let leads: number[] = [];
    setInterval(() => {
      const nowMs = performance.now();
      leads = [...leads.slice(-20), context.currentTime * 1_000 - nowMs];
      const inMs = begunMs + next * 1_000 - nowMs;
      if (inMs > 300) return;
      next++;
      if (inMs < 20) return;
      const source = new AudioBufferSourceNode(context, { buffer: click });
      source.connect(sound);
      source.start((nowMs + inMs + Math.max(...leads)) / 1_000);
    }, 50);
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [320, 64];
    const drawing = canvas.getContext("2d");
    // As a camera does it, each picture tells when it was taken, however late it is handed on.
    const camera = new MediaStreamTrackGenerator({ kind: "video" });
    const pictures = camera.writable.getWriter();
    const draw = async () => {
      const nowMs = performance.now();
      const units = Math.max(Math.floor((nowMs - begunMs) / 10), 0);
      for (let bit = 0; bit < 16; bit++) {
        if (drawing === null) return;
        drawing.fillStyle = (units >> bit) % 2 === 1 ? "white" : "black";
        drawing.fillRect(bit * 20, 0, 20, 64);
      }
      await pictures.write(new VideoFrame(canvas, { timestamp: nowMs * 1_000 }));
      setTimeout(() => void draw(), 33);
    };
    if (wanted.video) void draw();
    const tracks = [
      ...(wanted.video ? [camera] : []),
      ...(wanted.audio ? sound.stream.getAudioTracks() : []),
    ];
    return new MediaStream(tracks);
  };
};

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
 * By how much each picture is away from the sound around it, by the manifest alone. One click alone
 * may have been late where it was made, so the middle one of those within 3 s tells.
 */
export async function misalignment(media: KeptMedia): Promise<number[]> {
  const clicks = onsets(media.pcm).map((sample) => timeOf(media, sample));
  assert.ok(clicks.length >= 2, `${clicks.length} clicks`);
  const away: number[] = [];
  for (const { file, t_ms } of media.frames) {
    const shownMs = await shownTime(join(media.folder, file));
    const near = clicks.filter((click) => Math.abs(click - t_ms) <= 3_000);
    if (near.length < 3 || shownMs === 0) continue;
    // The picture says how long ago a full second was, and so does the sound.
    const apart = near.map((click) => centered(t_ms - click - shownMs)).sort((a, b) => a - b);
    away.push(apart[Math.floor(apart.length / 2)] ?? 0);
  }
  return away;
}

/** Within a second, from -500 to 500 ms. */
function centered(ms: number): number {
  return ((((ms + 500) % 1_000) + 1_000) % 1_000) - 500;
}
