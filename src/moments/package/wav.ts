import { type AudioRef, audioBlockSamples, audioRateHz } from "./package-sink.ts";

export const wavHeaderBytes = 44;

/** The header of a WAV file of 16 kHz mono, 16 bits: 44 bytes. Source: RIFF, format 1 (PCM). */
export function wavHeader(samples: number): Buffer {
  const dataBytes = samples * 2;
  const header = Buffer.alloc(wavHeaderBytes);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + dataBytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(audioRateHz, 24);
  header.writeUInt32LE(audioRateHz * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** The samples as bytes, little endian, a view into each block: nothing is copied. */
export function pcmParts(audio: AudioRef): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let left = audio.samples;
  let from = audio.start;
  for (const block of audio.blocks) {
    const count = Math.min(left, audioBlockSamples - from);
    if (count <= 0) break;
    parts.push(new Uint8Array(block.buffer, block.byteOffset + from * 2, count * 2));
    left -= count;
    from = 0;
  }
  return parts;
}

/** All of audio.wav, in order. */
export function wavParts(audio: AudioRef): readonly Uint8Array[] {
  return [wavHeader(audio.samples), ...pcmParts(audio)];
}
