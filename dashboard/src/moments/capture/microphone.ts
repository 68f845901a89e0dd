// Sound of a microphone as 16 bits at 16 kHz, each chunk with the time of its first sample, on the
// page's clock.
import workletAddress from "./capture-worklet.ts?worker&url";

const rateHz = 16_000;
/**
 * From a track into the audio thread: Chromium hands on 10 ms at a time and holds one or two back.
 * Measured, against clicks of known times: 0 to 45 ms, by how busy the machine is.
 */
const graphMs = 20;
/** More than any real one: a browser that says so is wrong. */
const maxLatencyMs = 500;

interface Chunk {
  readonly pcm: Int16Array;
  /** When its first sample was taken, on the wall. */
  readonly wallMs: number;
}

type SoundSink = (pcm: Uint8Array, capturedMs: number) => void;

/** Reads a stream until it is closed; the stream is the caller's. */
export class Microphone {
  readonly #context: AudioContext;

  private constructor(context: AudioContext) {
    this.#context = context;
  }

  /** Rejects where the browser has no audio thread, or its file does not load. */
  static async open(stream: MediaStream, sink: SoundSink): Promise<Microphone> {
    const { context, source } = contextOf(stream);
    try {
      await context.audioWorklet.addModule(workletAddress);
      await context.resume();
      const node = new AudioWorkletNode(context, "capture", {
        numberOfInputs: 1,
        numberOfOutputs: 0,
        channelCount: 1,
        channelCountMode: "explicit",
      });
      const latencyMs = latencyOf(stream);
      node.port.onmessage = ({ data: { pcm, wallMs } }: MessageEvent<Chunk>) => {
        const takenMs = wallMs - (Date.now() - performance.now());
        sink(new Uint8Array(pcm.buffer), takenMs - graphMs - latencyMs);
      };
      source.connect(node);
      return new Microphone(context);
    } catch (error) {
      void context.close();
      throw error;
    }
  }

  close(): void {
    void this.#context.close();
  }
}

/** Not every browser makes 16 kHz of a microphone of another rate; the worklet does then. */
function contextOf(stream: MediaStream) {
  const context = new AudioContext({ sampleRate: rateHz });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    void context.close();
    const other = new AudioContext();
    return { context: other, source: other.createMediaStreamSource(stream) };
  }
}

/** How long sound takes to the browser, if it says so. */
function latencyOf(stream: MediaStream): number {
  const settings: object = stream.getAudioTracks()[0]?.getSettings() ?? {};
  const ms = "latency" in settings ? Number(settings.latency) * 1_000 : 0;
  return ms > 0 && ms < maxLatencyMs ? ms : 0;
}
