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
  readonly #chunker = new Chunker(sampleRate, { rate: 16_000, chunk: 1_600 }, (pcm, firstFrame) =>
    // The wall's time: there is no other here. The page may be too busy to look when this comes.
    this.port.postMessage({ pcm, firstFrame, wallMs: Date.now() }, [pcm.buffer]),
  );

  /** Called for every 128 samples. @returns whether to go on. */
  process([input]: readonly (readonly Float32Array[])[]): boolean {
    const samples = input?.[0];
    if (samples !== undefined) this.#chunker.push(samples, currentFrame);
    return true;
  }
}

registerProcessor("capture", CaptureProcessor);
