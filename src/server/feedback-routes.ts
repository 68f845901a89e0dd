import { z } from "@hono/zod-openapi";
import { invalid, ThroughlineError } from "../errors.ts";
import type { Moments, Receipt } from "../moments.ts";
import { readMedia } from "./body.ts";
import { type Door, isHead, json } from "./door.ts";
import {
  consent,
  consentBody,
  deletion,
  filePath,
  name,
  onePackage,
  packageList,
  pushed,
  reaction,
  receipt,
  retraction,
  stats,
  verification,
} from "./feedback-schemas.ts";
import { known } from "./input.ts";
import { limit } from "./schemas.ts";

/** What people react to: consent, feeds, reactions, packages. */
export function addFeedbackRoutes(door: Door): void {
  addConsent(door);
  addFeeds(door);
  addReactions(door);
  addPackages(door);
  addPackageChanges(door);
}

function addConsent(door: Door): void {
  door.add(
    {
      ...{ method: "get", path: "/api/feedback/stats", id: "getFeedbackStats" },
      summary: "What the rolling buffers hold, where packages go, and what is owed",
      answers: { 200: { says: "The numbers.", schema: stats } },
    },
    () => {
      const { loss: _, ...shown } = momentsOf(door).statistics();
      return json(shown);
    },
  );
  door.add(
    {
      ...{ method: "post", path: "/api/feedback/consent", id: "agree", body: consentBody },
      summary: "Says what may be kept, sent and exported: from now on this, and nothing else",
      description:
        "What is withdrawn leaves the buffers at once. Pictures and sound are off at first.",
      answers: { 200: { says: "What is agreed to.", schema: consent } },
    },
    ({ body }) => {
      const { recorder } = momentsOf(door);
      recorder.agree(known(body));
      return json(recorder.consent);
    },
  );
}

const maxFrameBytes = 2 * 1024 * 1024;
const maxAudioBytes = 4 * 1024 * 1024;

function addFeeds(door: Door): void {
  door.add(
    {
      ...{ method: "post", path: "/api/frames", id: "feedFrame", bytes: "image/jpeg" },
      summary: "Feeds a picture; one in half a second is kept, for two minutes",
      answers: { 200: { says: "Whether it was taken.", schema: pushed } },
    },
    async (_, context) => {
      const { recorder } = momentsOf(door);
      const bytes = await readMedia(context.req.raw, "image/jpeg", maxFrameBytes);
      return json({ result: recorder.frame(bytes) });
    },
  );
  door.add(
    {
      ...{ method: "post", path: "/api/audio", id: "feedAudio", bytes: "application/octet-stream" },
      query: z.strictObject({
        format: z.enum(["s16le", "f32le"]).optional(),
        rate: z.enum(["16000"], "must be 16000").optional(),
      }),
      summary: "Feeds raw samples, 16 kHz mono; the last two minutes are kept",
      answers: { 200: { says: "Whether they were taken.", schema: pushed } },
    },
    async ({ query }, context) => {
      const { recorder } = momentsOf(door);
      const bytes = await readMedia(context.req.raw, "application/octet-stream", maxAudioBytes);
      const encoding = query.format ?? "s16le";
      if (bytes.length % (encoding === "s16le" ? 2 : 4) !== 0) throw invalid("half a sample");
      return json({ result: recorder.audio(bytes, { encoding }) });
    },
  );
}

/** How long a reaction is waited for; then it is said that it is not durable yet. */
const durableWithinMs = 10_000;

function addReactions(door: Door): void {
  door.add(
    {
      ...{ method: "post", path: "/api/feedback", id: "recordFeedback", body: reaction },
      headers: z.object({ "Idempotency-Key": z.string().optional() }),
      summary: "Somebody reacted: keeps what led to it",
      description:
        "Answers when it is durable (201), or not yet (202). 200: it repeats an earlier one. While this run " +
        "lasts, the same `Idempotency-Key` gets the first receipt.",
      answers: {
        200: { says: "It repeats an earlier one.", schema: receipt },
        201: { says: "It is durable.", schema: receipt },
        202: { says: "It is held in memory, and not durable yet.", schema: receipt },
      },
    },
    async ({ body }, context) => {
      const { recorder } = momentsOf(door);
      const key = context.req.header("idempotency-key");
      const { chat_id, target_message_id, post_roll_ms, ...input } = body;
      const recorded = recorder.record({
        ...known(input),
        ...{ sentiment: input.sentiment, what: input.what, source: "http" },
        ...known({ chatId: chat_id, targetMessageId: target_message_id }),
        ...known({ postRollMs: post_roll_ms, idempotencyKey: key }),
      });
      await settled(recorded);
      return receiptResponse(recorded);
    },
  );
}

async function settled(recorded: Receipt): Promise<void> {
  const timeout = AbortSignal.timeout(durableWithinMs);
  const late = new Promise<void>((resolve) => timeout.addEventListener("abort", () => resolve()));
  await Promise.race([recorded.whenDurable().catch(() => undefined), late]);
}

function receiptResponse(recorded: Receipt): Response {
  const state = recorded.toJSON();
  if (state.duplicate_of !== undefined) return json(state, 200);
  if (!state.accepted) {
    const code = state.reason === "busy" ? "THROUGHLINE_BUSY" : "THROUGHLINE_CONFLICT";
    throw new ThroughlineError(`nothing was recorded: ${state.reason}`, { code });
  }
  return json(state, state.durable ? 201 : 202);
}

function addPackages(door: Door): void {
  door.add(
    {
      ...{ method: "get", path: "/api/feedback", id: "listFeedback" },
      query: z.strictObject({ limit, cursor: z.string().optional() }),
      summary: "The packages, newest first",
      answers: { 200: { says: "A page.", schema: packageList } },
    },
    async ({ query }) => {
      const { limit = 50, cursor } = query;
      const page = await momentsOf(door).packages.list({
        limit: Math.min(limit, 500),
        ...(cursor === undefined ? {} : { before: cursor }),
      });
      const packages = page.packages.map(({ manifest, status, ...entry }) => {
        return { ...entry, feedback: manifest ?? null, status: status ?? null };
      });
      return json({ packages, cursor: page.next });
    },
  );
  door.add(
    {
      ...{ method: "get", path: "/api/feedback/{name}", id: "getFeedback", params: name },
      summary: "One package: its record, its words, its state",
      answers: { 200: { says: "The package.", schema: onePackage } },
    },
    async ({ params }) => {
      const { manifest, messages, status, incomplete } = await momentsOf(door).packages.read(
        params.name,
      );
      return json({ feedback: manifest, messages, status: status ?? null, incomplete });
    },
  );
  const sendFile = async (
    packageName: string,
    path: string,
    range: string | undefined,
    head: boolean,
  ) => {
    const wanted = rangeOf(range);
    const part = await momentsOf(door).packages.openPart(packageName, path, wanted ?? {});
    const headers = {
      "content-type": part.mediaType,
      "content-length": String(part.end - part.start),
      "accept-ranges": "bytes",
      ...(wanted === undefined
        ? {}
        : { "content-range": `bytes ${part.start}-${part.end - 1}/${part.bytes}` }),
    };
    const body = head ? null : ReadableStream.from(part.pieces);
    return new Response(body as ReadableStream<Uint8Array> | null, {
      status: wanted === undefined ? 200 : 206,
      headers,
    });
  };
  for (const folder of ["", "frames/"] as const) {
    door.add(
      {
        ...{ method: "get", id: folder === "" ? "getFeedbackFile" : "getFeedbackFrame" },
        path: `/api/feedback/{name}/${folder}{file}`,
        params: filePath,
        summary: folder === "" ? "A file of a package" : "A picture of a package",
        description: "Takes one `Range`.",
        answers: {
          200: { says: "The bytes.", types: ["application/json", "audio/wav", "image/jpeg"] },
          206: { says: "The bytes that were asked for.", types: ["audio/wav", "image/jpeg"] },
        },
      },
      ({ params }, context) =>
        sendFile(params.name, folder + params.file, context.req.header("range"), isHead(context)),
    );
  }
}

function addPackageChanges(door: Door): void {
  door.add(
    {
      ...{
        method: "post",
        path: "/api/feedback/{name}/verify",
        id: "verifyFeedback",
        params: name,
      },
      summary: "Compares every byte of a package with its seal",
      answers: { 200: { says: "What differs; nothing, as a rule.", schema: verification } },
    },
    async ({ params }) => {
      const { differences } = await momentsOf(door).packages.verify(params.name);
      return json({ verified: differences.length === 0, differences });
    },
  );
  door.add(
    {
      ...{ method: "post", path: "/api/feedback/{name}/retract", id: "retractFeedback" },
      ...{ params: name, body: retraction },
      summary: "Takes a reaction back: it stays, and no export has it",
      answers: { 200: { says: "The package.", schema: onePackage } },
    },
    async ({ params, body }) => {
      const { packages, retract } = momentsOf(door);
      await retract(params.name, { by: null, reason: body.reason ?? null });
      const { manifest, messages, status, incomplete } = await packages.read(params.name);
      return json({ feedback: manifest, messages, status: status ?? null, incomplete });
    },
  );
  door.add(
    {
      ...{ method: "delete", path: "/api/feedback/{name}", id: "deleteFeedback", params: name },
      summary: "Deletes a package, wherever it is",
      answers: { 200: { says: "What was deleted, and what is owed.", schema: deletion } },
    },
    async ({ params }) => json(await momentsOf(door).packages.delete({ name: params.name })),
  );
}

/** One range of bytes, from the start: what players ask for. */
function rangeOf(header: string | undefined): { start: number; end?: number } | undefined {
  const found = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(header ?? "");
  if (found === null) return undefined;
  const [, start, last] = found;
  return { start: Number(start), ...(last === undefined ? {} : { end: Number(last) + 1 }) };
}

function momentsOf({ ports }: Door): Moments {
  if (ports.moments !== undefined) return ports.moments;
  throw new ThroughlineError("no moments are kept here", { code: "THROUGHLINE_NOT_FOUND" });
}
