// A companion that keeps moments, for pages with a camera and a microphone; and what is looked at in
// the packages that come of them.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { systemClock } from "../../src/core/clock.ts";
import { openThroughline, type Throughline } from "../../src/core/throughline.ts";
import { momentsRoutes } from "../../src/moments/routes.ts";
import { type Moments, startMoments } from "../../src/moments/start-moments.ts";
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

/** Memories in a home that keeps moments. */
export async function momentsHome(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), "throughline-page-moments-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const target = { provider: "scripted", model: "scripted" };
  const throughline = await openThroughline({ home, ...target });
  const software = { name: "throughline", version: "0.0.0" };
  const persona = "You are kind.";
  const moments = await startMoments(throughline, { sessionId: "a1b2c3d4", software, persona });
  return { home, moments, options: { throughline, features: [momentsRoutes(moments)] } };
}

export async function withMoments(t: TestContext): Promise<CaptureVisit> {
  const { home, moments, options } = await momentsHome(t);
  return {
    script: [["Knock, knock"], ["Who is there?"]],
    prepare: async () => undefined,
    options: { ...options, clock: systemClock },
    path: "/moments",
    throughline: options.throughline,
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
  withinMs = 60_000,
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

/** When a sample was heard, by the manifest. */
export function timeOf({ audio }: KeptMedia, sample: number): number {
  return audio.start_t_ms + sample / 16;
}
