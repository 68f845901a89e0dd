// A recorder over a directory of packages on a simulated disk, and exports of what is in it: the
// whole way from what was said to what is trained.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import type { Disk } from "../../src/core/storage/disk/disk.ts";
import { exportFeedback } from "../../src/moments/export/export-feedback.ts";
import type { FeedbackExportOptions } from "../../src/moments/export/selection.ts";
import { consentWording } from "../../src/moments/record/consent.ts";
import type { MomentInput } from "../../src/moments/record/label.ts";
import type { NewMessage } from "../../src/moments/record/messages.ts";
import { MomentRecorder, type RecorderOptions } from "../../src/moments/record/moment-recorder.ts";
import { lines, type Row } from "./feedback-export-files.ts";
import { filesUnder, redJpeg } from "./feedback-packages.ts";
import { HeldClock } from "./held-clock.ts";
import { HeldTimers } from "./held-timers.ts";
import { type Opened, openPackages } from "./package-workload.ts";
import { SimulatedDisk } from "./simulated-disk.ts";

export const everything = {
  ...{ messages: true, frames: true, audio: true, upload: true, export: true },
  ...{ wording: consentWording, by: "ann" },
};
export const liked: MomentInput = { sentiment: "positive", what: "the joke", source: "http" };

/** A picture that is whole, and that its number tells from others. */
export function picture(number: number): Buffer {
  const comment = Buffer.from([0xff, 0xfe, 0, 4, number >> 8, number & 0xff]);
  return Buffer.concat([redJpeg.subarray(0, 2), comment, redJpeg.subarray(2)]);
}

export class MomentsWorld {
  readonly clock = new HeldClock("2026-02-19T15:30:00.000Z");
  readonly timers = new HeldTimers(this.clock);
  readonly disk: Disk;
  readonly recorder: MomentRecorder;
  readonly #opened: Opened;
  #pictures = 0;

  private constructor(disk: Disk, opened: Opened, options: Partial<RecorderOptions>) {
    this.disk = disk;
    this.#opened = opened;
    let seed = 0;
    this.recorder = new MomentRecorder({
      ...{ sink: opened.packages, clock: this.clock, timers: this.timers, sessionId: "a1b2c3d4" },
      logger: silentLogger,
      ...{ software: { name: "throughline", version: "0.0.0" }, consent: everything },
      random: (bytes) => bytes.fill(++seed),
      ...options,
    });
  }

  static async open(options: Partial<RecorderOptions> = {}, disk: Disk = new SimulatedDisk()) {
    return new MomentsWorld(disk, await openPackages(disk), options);
  }

  get packages() {
    return this.#opened.packages;
  }

  /** Half a second passes, with a picture and its sound. */
  live(): void {
    this.clock.pass(500);
    assert.equal(this.recorder.frame(picture(this.#pictures++)), "accepted");
    assert.equal(this.recorder.audio(new Int16Array(8_000).fill(this.#pictures)), "accepted");
  }

  say(...said: readonly NewMessage[]): void {
    for (const message of said) {
      this.live();
      this.recorder.message(message);
    }
  }

  /** @returns the name of the package. */
  async react(input: Partial<MomentInput> = {}): Promise<string> {
    const receipt = this.recorder.record({ ...liked, ...input });
    await receipt.whenDurable();
    return receipt.name;
  }

  async export(options: FeedbackExportOptions) {
    const out = new SimulatedDisk();
    const report = await exportFeedback(this.packages, out, "/out", options);
    const files = await filesUnder(out, "/out");
    const train = files?.get("train.jsonl");
    const rows: readonly Row[] = train === undefined ? [] : lines(train);
    return { rows, total: report.rows.total, skipped: report.skipped, files };
  }
}
