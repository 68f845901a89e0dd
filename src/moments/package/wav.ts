import { type AudioRef, audioRateHz } from "./package-sink.ts";

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

/** The samples as bytes, little endian: nothing is copied. */
export function pcmParts({ pcm }: AudioRef): readonly Uint8Array[] {
  return pcm.map(({ buffer, byteOffset, byteLength }) => {
    return new Uint8Array(buffer, byteOffset, byteLength);
  });
}

/** All of audio.wav, in order. */
export function wavParts(audio: AudioRef): readonly Uint8Array[] {
  return [wavHeader(audio.samples), ...pcmParts(audio)];
}
