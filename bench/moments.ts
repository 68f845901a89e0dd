// What keeping moments costs whoever feeds them: a chunk of sound, and a reaction at full buffers.
import type { PackageSink } from "../src/moments/package/package-sink.ts";
import { type Figure, ms } from "./figure.ts";
import { exportPackages } from "./moments-export.ts";
import { fullRecorder, praise, type Sound } from "./moments-world.ts";
import { writePackage } from "./moments-write.ts";
import { median, percentile } from "./samples.ts";

/** Holds nothing: what is measured ends before a save begins. */
const nowhere: PackageSink = {
  save: async ({ record }) => ({ name: record.name }),
};

/** What `record()` takes until it returns: the snapshot is held, nothing is copied. */
async function snapshot(): Promise<Figure[]> {
  const { recorder, feed } = fullRecorder(nowhere);
  const samples: number[] = [];
  for (let round = 0; round < 300; round++) {
    // A reaction a minute, so that the hour's are as many as keep their media.
    for (let i = 0; i < 3_000; i++) feed("int16");
    const started = performance.now();
    const receipt = recorder.record(praise);
    samples.push(performance.now() - started);
    if (!receipt.accepted) throw new Error(`refused: ${receipt.reason}`);
    await receipt.whenDurable();
  }
  const { frames, audio_samples, messages } = recorder.stats;
  const full = `${messages} messages, ${frames} pictures, ${audio_samples / 16_000} s of sound`;
  const typical = median(samples);
  const tail = `p99 ${ms(percentile(samples, 0.99))}, the first of the process ${ms(samples[0] ?? Number.NaN)}`;
  return [
    {
      says: `record() with ${full} returns after ${ms(typical)} (${tail}); against 1 ms`,
      ratio: typical / 1,
      target: 1,
    },
  ];
}

/** What a chunk of 320 samples and a picture cost in full buffers, clocks and trimming included. */
async function ingest(): Promise<Figure[]> {
  const { feed } = fullRecorder(nowhere);
  const chunks: Record<Sound, number[]> = { int16: [], float32: [] };
  const frames: number[] = [];
  for (let i = 0; i < 200_000; i++) {
    const kind = i % 2 === 0 ? "int16" : "float32";
    const { soundMs, frameMs } = feed(kind);
    chunks[kind].push(soundMs);
    if (frameMs !== undefined) frames.push(frameMs);
  }
  const typical = Object.entries(chunks).map(([kind, times]) => {
    const us = median(times) * 1_000;
    return {
      says: `a chunk of 20 ms as ${kind} is taken in ${us.toFixed(2)} us; against 10 us`,
      ratio: us / 10,
      target: 1,
    };
  });
  const tails = Object.entries({ ...chunks, "a picture": frames }).map(([kind, times]) => {
    const p99 = percentile(times, 0.99);
    const worst = ms(Math.max(...times.slice(-1_000)));
    return {
      says: `p99 of feeding ${kind} is ${ms(p99)} (worst of the last 1,000 ${worst}); against 1 ms`,
      ratio: p99 / 1,
      target: 1,
    };
  });
  return [...typical, ...tails];
}

/** By name, as the command line takes them. */
export const momentFigures: Readonly<Record<string, () => Promise<Figure[]>>> = {
  snapshot,
  ingest,
  package: writePackage,
  export: exportPackages,
};
