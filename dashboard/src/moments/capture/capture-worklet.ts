// Runs in the browser's audio thread, as a file of its own: sound as 16 bits at 16 kHz, 100 ms at a time.
import { Chunker } from "./samples.ts";

// What that thread has, and the DOM's types do not.
declare const currentFrame: number;
declare const sampleRate: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: typeof AudioWorkletProcessor): void;

class CaptureProcessor extends AudioWorkletProcessor {
  /** How far the wall was ahead of what this thread counts, at the least since the last chunk. */
  #aheadMs = Number.POSITIVE_INFINITY;
  readonly #chunker = new Chunker(sampleRate, { rate: 16_000, chunk: 1_600 }, (pcm, firstFrame) => {
    const wallMs = (firstFrame * 1_000) / sampleRate + this.#aheadMs;
    this.#aheadMs = Number.POSITIVE_INFINITY;
    this.port.postMessage({ pcm, wallMs }, [pcm.buffer]);
  });

  /** Called for every 128 samples. @returns whether to continue. */
  process([input]: readonly (readonly Float32Array[])[]): boolean {
    const samples = input?.[0];
    if (samples !== undefined) {
      // The wall's time: there is no other here, and the page may be too busy to look. A block can be
      // late, not early: of those of a chunk, the one that waited least has the right time.
      const endMs = ((currentFrame + samples.length) * 1_000) / sampleRate;
      this.#aheadMs = Math.min(this.#aheadMs, Date.now() - endMs);
      this.#chunker.push(samples, currentFrame);
    }
    return true;
  }
}

registerProcessor("capture", CaptureProcessor);
