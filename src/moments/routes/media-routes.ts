// Pictures and sound on their way in, over HTTP and by WebSocket, and whole packages on their way out.
import { z } from "zod";
import { type ErrorCode, invalid, ThroughlineError } from "../../core/errors.ts";
import { foreignFile } from "../../server/guard.ts";
import { readMedia } from "../../server/input.ts";
import { reportError } from "../../server/problem.ts";
import { disconnect, isHead, json, type Router } from "../../server/router.ts";
import type { Moments } from "../moments.ts";
import type { PushResult } from "../record/media.ts";
import type { MediaSockets } from "./media-sockets.ts";
import { name, schemaOf } from "./schemas.ts";
import { readShown } from "./shown-package.ts";

export function addMediaRoutes(router: Router, moments: Moments, media: MediaSockets): void {
  router.addSocket(
    {
      path: "/api/media",
      id: "openMedia",
      summary: "Feed pictures and sound through a WebSocket",
      description:
        "Binary messages: one byte, 1 for samples (16 bits little endian, 16 kHz mono) or 2 for a JPEG; " +
        "eight bytes, a little-endian float64: milliseconds on the sender's monotonic clock when the picture " +
        "or the first sample was taken, NaN when that is not known; then the bytes, at most 2 MiB. Refused " +
        'messages are counted and reported about once a second, as text: `{"refused": {"frame: not_jpeg": 2}}`. Closed with ' +
        "4403 without consent to pictures or sound, 1003 after a message of another kind, 1009 after one " +
        "that is too long, 1013 when too many are open, 1001 when the server ends.",
      answers: { 101: { says: "The WebSocket is open." } },
    },
    () => media.accept(),
  );
  addFeeds(router, moments);
  addArchive(router, moments);
}

const clockFields = () => ({
  captured_ms: z
    .string()
    .regex(/^\d{1,15}(\.\d{1,6})?$/, "must be a number of milliseconds")
    .optional()
    .meta({
      description:
        "When it was taken, on the sender's monotonic clock: the first sample, of sound.",
    }),
});
const jpeg = "image/jpeg";
const sampleTypes = ["application/octet-stream", "audio/pcm"] as const;
const maxFrameBytes = 2 * 1024 * 1024;
const maxAudioBytes = 4 * 1024 * 1024;

function addFeeds(router: Router, { recorder }: Moments): void {
  const camera = () =>
    z.string().regex(/^[\w .-]{1,64}$/, "must be 1 to 64 letters, digits and ._-");
  router.post("/api/frames", {
    id: "feedFrame",
    bytes: [jpeg],
    query: () => z.strictObject({ ...clockFields(), camera: camera().optional() }),
    summary:
      "Feed a picture; one in half a second of each camera (by `captured_ms`, else by when it came) is kept for two minutes",
    description:
      "A body that is no whole JPEG of 1 to 8,192 pixels a side is 400, a picture that is too large 413.",
    answers: { 200: { says: "Whether it was kept.", schema: schemaOf("pushed") } },
    answer: async ({ query }, context) => {
      const bytes = await readMedia(context.req.raw, [jpeg], maxFrameBytes);
      const push = { ...timeOf(query), camera: query.camera };
      return pushed(recorder.frame(bytes, push));
    },
  });
  router.post("/api/audio", {
    id: "feedAudio",
    bytes: sampleTypes,
    query: () =>
      z.strictObject({
        format: z.enum(["s16le", "f32le"]).optional(),
        rate: z.literal("16000", "must be 16000: resample the sound first").optional(),
        channels: z.literal("1", "must be 1: mix the channels first").optional(),
        ...clockFields(),
      }),
    summary: "Feed raw samples, 16 kHz mono; the last two minutes are kept",
    description: "Little endian. Another rate or more channels are 400.",
    answers: { 200: { says: "Whether they were kept.", schema: schemaOf("pushed") } },
    answer: async ({ query }, context) => {
      const { format: encoding = "s16le" } = query;
      const bytes = await readMedia(context.req.raw, sampleTypes, maxAudioBytes);
      if (bytes.length % (encoding === "s16le" ? 2 : 4) !== 0) throw invalid("half a sample");
      return pushed(recorder.audio(bytes, { ...timeOf(query), encoding }));
    },
  });
}

const refusals: Partial<Record<PushResult, readonly [ErrorCode, string]>> = {
  not_jpeg: ["THROUGHLINE_INVALID", "the body is no whole JPEG of 1 to 8,192 pixels a side"],
  too_large: ["THROUGHLINE_TOO_LARGE", "the picture is larger than one may be here"],
  format: ["THROUGHLINE_MEDIA_TYPE", "the body is no sound of that format"],
  closed: ["THROUGHLINE_CLOSED", "nothing is taken any more: the server is closing"],
};

/** What was not kept through no fault of the sender is an answer. @throws ThroughlineError the rest. */
function pushed(result: PushResult): Response {
  const refusal = refusals[result];
  if (refusal === undefined) return json({ result });
  const [code, message] = refusal;
  throw new ThroughlineError(message, { code });
}

function timeOf({ captured_ms }: { readonly captured_ms?: string | undefined }) {
  return { sourceMs: captured_ms === undefined ? undefined : Number(captured_ms) };
}

/** A whole package as one file: what a person may take away. */
function addArchive(router: Router, moments: Moments): void {
  const { packages } = moments;
  router.get("/api/feedback/{name}/package.tar", {
    id: "downloadFeedback",
    params: name,
    summary: "Download a whole package as one tar file",
    description:
      "Its files as they are, `feedback.json` last. The download of a damaged package breaks off.",
    answers: { 200: { says: "The file.", types: ["application/x-tar"] } },
    answer: async ({ params }, context) => {
      const { manifest } = await readShown(router, moments, params.name);
      const paths = [...manifest.files.map(({ path }) => path), "feedback.json"];
      const parts = paths.map((path) => () => packages.file(params.name, path));
      const sealed = (await packages.file(params.name, "feedback.json", 0, 0)).size;
      const sizes = [...manifest.files.map(({ bytes }) => bytes), sealed];
      const failed = (error: unknown) => {
        reportError(router.ports, error, { route: context.get("route") });
        disconnect(context)();
      };
      const tar = ReadableStream.from(mediaTar(params.name, parts, failed));
      return new Response(isHead(context) ? null : (tar as ReadableStream<Uint8Array>), {
        headers: {
          ...foreignFile(`${params.name}.tar`, "application/x-tar"),
          "content-length": String(tarBytesOf(sizes)),
        },
      });
    },
  });
}

// The tar file: POSIX ustar, written as it is read. No time and no owner goes in: the same package makes the same bytes.

const blockBytes = 512;

interface TarPart {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** How long the file becomes, from the lengths of what goes in. */
function tarBytesOf(sizes: readonly number[]): number {
  const padded = sizes.map((bytes) => blockBytes + bytes + paddingOf(bytes));
  return padded.reduce((sum, bytes) => sum + bytes, 2 * blockBytes);
}

/**
 * The bytes, in one folder. Each part is read when it is its turn.
 *
 * @param failed is called when reading breaks off. The bytes then end in an error, so that they cannot be taken
 *   for whole.
 */
export async function* mediaTar(
  folder: string,
  parts: readonly (() => Promise<TarPart>)[],
  failed: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (const read of parts) {
      const { path, bytes } = await read();
      yield header(`${folder}/${path}`, bytes.length);
      yield bytes;
      yield new Uint8Array(paddingOf(bytes.length));
    }
    yield new Uint8Array(2 * blockBytes);
  } catch (error) {
    failed(error);
    throw error;
  }
}

/** @param path at most 100 characters of ASCII, as all of ours are. */
function header(path: string, bytes: number): Uint8Array {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(path, 0, 100, "latin1");
  block.write(`${octal(0o600, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100, "latin1");
  block.write(`${octal(bytes, 11)}\0${octal(0, 11)}\0`, 124, "latin1");
  // The sum is made with blanks in its own place.
  block.write("        0", 148, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, "latin1");
  return block;
}

function paddingOf(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}
