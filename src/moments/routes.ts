// What moments add to the server: reactions, packages, and the way in for pictures and sound.
import { z } from "zod";
import { notFound } from "../core/chat/chat-log.ts";
import { conflict, invalid, isThroughlineError, ThroughlineError } from "../core/errors.ts";
import { until } from "../core/timers.ts";
import { foreignFile } from "../server/guard.ts";
import type { ServerFeature } from "../server/options.ts";
import { problem, problemResponse } from "../server/problem.ts";
import { isHead, json, type Router } from "../server/router.ts";
import type { PackageEntry, PackageFile, ReadPackage } from "./directory/read-package.ts";
import type { Moments } from "./moments.ts";
import type { Receipt } from "./record/receipt.ts";
import { addMediaRoutes } from "./routes/media-routes.ts";
import { type BufferState, MediaSockets } from "./routes/media-sockets.ts";
import {
  consentBody,
  filePath,
  name,
  packageFilter,
  preservation,
  reaction,
  retraction,
  schemaOf,
  whose,
} from "./routes/schemas.ts";
import { isMatch, listedManifest, readShown } from "./routes/shown-package.ts";
import { transcriptUpTo } from "./turns/transcript.ts";

/** What an operation answers, by the name of its schema. */
const answer = (says: string, name: Parameters<typeof schemaOf>[0]) => ({
  says,
  schema: schemaOf(name),
});

/** Moments over HTTP, for `createServer`. */
export function momentsRoutes(moments: Moments): ServerFeature {
  return (router: Router) => {
    const { watchers, clock } = router.ports;
    const tell = (state: BufferState) => watchers.publishHere("buffers", state);
    const media = new MediaSockets(moments, clock, tell);
    addMediaRoutes(router, moments, media);
    addConsent(router, moments, media);
    addReactions(router, moments);
    addPackages(router, moments);
    addPackageChanges(router, moments);
    router.describeEvents(async () => (await import("./routes/answer-schemas.ts")).events);
    const endFeedback = moments.onEvent((event) => watchers.publish("feedback", event));
    return () => {
      endFeedback();
      media.end();
    };
  };
}

function addConsent(router: Router, moments: Moments, media: MediaSockets): void {
  router.get("/api/feedback/stats", {
    id: "getFeedbackStats",
    summary: "Get what the rolling buffers hold, where packages go, and what waits for the bucket",
    answers: { 200: answer("The numbers.", "stats") },
    answer: () => json(media.state()),
  });
  router.post("/api/feedback/consent", {
    id: "agree",
    body: consentBody,
    summary: "Set what may be kept, sent and exported from now on, and nothing else",
    description:
      "Pictures and sound are off until they are agreed to. Whatever is withdrawn leaves the buffers at " +
      "once. The consent also applies to later runs, and to all running servers of this companion.",
    answers: { 200: answer("What is agreed to.", "consent") },
    answer: async ({ body }) => json(await moments.agree(body)),
  });
}

/** How long a reaction is waited for; then it is said that it is not durable yet. */
const durableWithinMs = 10_000;

function addReactions(router: Router, moments: Moments): void {
  router.post("/api/feedback", {
    id: "recordFeedback",
    body: reaction,
    headers: () => z.object({ "Idempotency-Key": z.string().optional() }),
    summary: "Record a reaction, and keep what led to it",
    description:
      "Answers when it is durable (201), or not yet (202). 200: it repeats a touch of the last 30 s. With a " +
      "`target_message_id` it supersedes the reaction that this message has. The same " +
      "`Idempotency-Key` with the same `chat_id` gets the first receipt, as long as its package is there.",
    answers: {
      200: answer("It repeats a touch of the last 30 s.", "receipt"),
      201: answer("It is durable.", "receipt"),
      202: answer("It is held in memory, and not durable yet.", "receipt"),
    },
    answer: async ({ body }, context) => {
      const { recorder } = moments;
      const key = context.req.header("idempotency-key");
      const { chat_id, target_message_id, post_roll_ms, ...input } = body;
      const judged = await readJudged(router, moments, chat_id, target_message_id);
      const recorded = recorder.record({
        ...input,
        ...judged,
        source: "http",
        chatId: chat_id,
        targetMessageId: target_message_id,
        postRollMs: post_roll_ms,
        idempotencyKey: key,
      });
      // What becomes of it is in the receipt.
      const durable = recorded.whenDurable().catch(() => undefined);
      await until(durable, { ms: durableWithinMs });
      return receiptResponse(recorded);
    },
  });
  router.get("/api/chats/{id}/reactions", {
    id: "listReactions",
    summary: "List the reactions to the messages of a chat, one for each turn",
    description:
      "A newer reaction supersedes the one before. Of several servers, each lists those that it recorded.",
    answers: { 200: answer("The reactions.", "reactions") },
    answer: async ({ params }) => json({ reactions: await moments.packages.reactions(params.id) }),
  });
}

/** How often a reaction is read at most, where words are removed while it is read. */
const mostReads = 10;

/**
 * Reads what a reaction is about. What is recorded at once holds no word that is forgotten or erased: a removal that
 * begins later finds the moment.
 */
async function readJudged(
  router: Router,
  { recorder, packages }: Moments,
  chatId: string | undefined,
  messageId: string | undefined,
) {
  const { chats } = router.ports.throughline;
  for (let reads = 1; reads <= mostReads; reads++) {
    const { removals } = recorder;
    if (chatId !== undefined) {
      await chats.existing(chatId);
      if (chats.unheard.has(chatId)) throw notFound(chatId); // its log goes last
    }
    const judged = await storedAnswer(router, chatId, messageId);
    const supersedes = await packages.reactionTo(chatId, messageId);
    if (removals === recorder.removals) return { ...judged, supersedes };
  }
  throw conflict("words are being removed: try again");
}

/** Who gave it, and for one that is older than the buffers what led to it; they know themselves whether they have it. */
async function storedAnswer({ ports }: Router, chatId = "", messageId = "") {
  if (chatId === "" || messageId === "") return undefined;
  try {
    const { chats } = ports.throughline;
    const transcript = await transcriptUpTo(chats, chatId, messageId);
    const { provider, model } = await chats.message(chatId, messageId);
    return { transcript, provider, model };
  } catch (error) {
    // An answer that is coming out is in no transcript yet; nor is one that was never given.
    const codes = ["THROUGHLINE_INVALID", "THROUGHLINE_NOT_FOUND"] as const;
    if (codes.some((code) => isThroughlineError(error, code))) return undefined;
    throw error;
  }
}

/** Reasons that are final: nothing is left that could still become durable. */
const lostBy: readonly unknown[] = ["closed", "forgotten"];

function receiptResponse(recorded: Receipt): Response {
  const state = recorded.toJSON();
  const { accepted, durable, reason, duplicate_of: repeats } = state;
  const isLost = !durable && lostBy.includes(reason);
  if (repeats !== undefined || (accepted && !isLost)) {
    return json(state, repeats !== undefined ? 200 : durable ? 201 : 202);
  }
  const isOver = accepted && reason !== "forgotten";
  const refused = reason === "busy" ? "THROUGHLINE_BUSY" : "THROUGHLINE_CONFLICT";
  const says = accepted ? "the reaction was not kept" : "nothing was recorded";
  const code = isOver ? "THROUGHLINE_UNAVAILABLE" : refused;
  throw new ThroughlineError(`${says}: ${reason}`, { code });
}

const wholeFile = { schema: schemaOf("packageFile"), types: ["audio/wav"] } as const;
const filePiece = { types: ["application/json", "audio/wav"] } as const;
const picture = { types: ["image/jpeg"] } as const;

function addPackages(router: Router, moments: Moments): void {
  router.get("/api/feedback", {
    id: "listFeedback",
    query: packageFilter,
    summary: "List the packages, newest first",
    description:
      "By the second of the reaction. Within one second they are in no particular order. One request looks at " +
      "500 packages at most: a page of a filtered list can be short, or empty, and have a `cursor`.",
    answers: { 200: answer("A page.", "packageList") },
    answer: async ({ query }) => json(await packagePage(router, moments, query)),
  });
  router.get("/api/feedback/{name}", {
    id: "getFeedback",
    params: name,
    summary: "Get one package: its record, its words, its state",
    description: "404, like its files, if a message in it was erased since.",
    answers: { 200: answer("The package.", "onePackage") },
    answer: async ({ params }) => packageAnswer(await readShown(router, moments, params.name)),
  });
  for (const folder of ["", "frames/"] as const) {
    router.get(`/api/feedback/{name}/${folder}{file}`, {
      id: folder === "" ? "getFeedbackFile" : "getFeedbackFrame",
      params: filePath,
      summary: folder === "" ? "Download a file of a package" : "Download a picture of a package",
      description: "Accepts one `Range`. A range that begins past the end is 416.",
      answers: {
        200: { says: "The bytes.", ...(folder === "" ? wholeFile : picture) },
        206: { says: "The bytes that were asked for.", ...(folder === "" ? filePiece : picture) },
      },
      answer: async ({ params }, context) => {
        // A picture holds no words, and a player asks for hundreds of them.
        if (folder === "") await readShown(router, moments, params.name);
        const range = rangeIn(context.req.header("range"));
        const { start = 0, end } = range ?? {};
        const until = isHead(context) ? start : end;
        const part = await moments.packages.file(params.name, folder + params.file, start, until);
        return sentPart(part, params.file, range, isHead(context));
      },
    });
  }
}

const deleted = {
  200: answer("What was deleted, and what still waits for the bucket.", "deletion"),
};

function addPackageChanges(router: Router, moments: Moments): void {
  router.post("/api/feedback/{name}/verify", {
    id: "verifyFeedback",
    params: name,
    summary: "Compare every byte of a package with its seal",
    answers: {
      200: answer("The differences; usually none.", "verification"),
    },
    answer: async ({ params }) => {
      const { state, differences } = await moments.packages.verify(params.name);
      return json({ verified: state === "whole", state, differences });
    },
  });
  router.post("/api/feedback/{name}/retract", {
    id: "retractFeedback",
    params: name,
    body: retraction,
    summary: "Take a reaction back: the package stays, and no export has it",
    description: "404 if a message in it was erased since; it is taken back all the same.",
    answers: {
      200: answer("The package.", "onePackage"),
      202: answer("It is not here: the mark will be sent to the bucket.", "retractedThere"),
    },
    answer: async ({ params, body }) => {
      const mark = { by: null, reason: body.reason ?? null };
      const where = await moments.retract(params.name, mark);
      if (where === "bucket") return json({ name: params.name, pending: true }, 202);
      return packageAnswer(await readShown(router, moments, params.name));
    },
  });
  router.post("/api/feedback/{name}/preserve", {
    id: "preserveFeedback",
    params: name,
    body: preservation,
    summary: "Protect a package from being removed, or stop protecting it",
    answers: { 200: answer("Its state.", "packageStatus") },
    answer: async ({ params, body }) => {
      const { preserved = true, reason = null } = body;
      const mark = preserved ? { by: null, reason } : null;
      return json(await moments.packages.preserve(params.name, mark));
    },
  });
  router.delete("/api/feedback/{name}", {
    id: "deleteFeedback",
    params: name,
    summary: "Delete a package everywhere",
    answers: deleted,
    answer: async ({ params }) => json(await moments.forget({ name: params.name })),
  });
  router.delete("/api/feedback", {
    id: "deleteFeedbackOf",
    query: whose,
    summary: "Delete the packages of a chat, or those in which a person was seen",
    description: "Say which of the two.",
    answers: deleted,
    answer: async ({ query }) => {
      const { chat_id: chatId, person } = query;
      if ((chatId === undefined) === (person === undefined)) {
        throw invalid("either chat_id or person must be given");
      }
      const selection = chatId === undefined ? { person: person ?? "" } : { chatId };
      return json(await moments.forget(selection));
    },
  });
}

function packageAnswer({ manifest, messages, status, incomplete }: ReadPackage): Response {
  return json({ feedback: manifest, messages, status: status ?? null, incomplete });
}

/**
 * Reads one range of bytes, up to `end`, as players ask for it. One that ends before it begins is none, as if it was
 * not asked for.
 */
function rangeIn(header = "") {
  const [, first, last = "Infinity"] = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(header) ?? [];
  const [start, end] = [Number(first), Number(last) + 1];
  return first === undefined || end <= start ? undefined : { start, end };
}

function sentPart(
  part: PackageFile,
  file: string,
  range: ReturnType<typeof rangeIn>,
  isHead: boolean,
) {
  const { size, bytes, mediaType } = part;
  const { start, end } = { start: 0, end: size, ...range };
  if (range !== undefined && start >= size) {
    // RFC 9110, 15.5.17.
    const refused = problem("THROUGHLINE_INVALID", `there are ${size} bytes, and no such range`);
    return problemResponse(
      { ...refused, title: "Range Not Satisfiable", status: 416 },
      { "content-range": `bytes */${size}` },
    );
  }
  const behind = Math.min(end, size);
  const headers = new Headers({
    ...foreignFile(file, mediaType),
    "content-length": String(behind - start),
    "accept-ranges": "bytes",
  });
  if (range !== undefined) headers.set("content-range", `bytes ${start}-${behind - 1}/${size}`);
  const status = range === undefined ? 200 : 206;
  return new Response(isHead ? null : new Uint8Array(bytes), { status, headers });
}

type Query = z.infer<ReturnType<typeof packageFilter>>;

/** How many packages one request opens at most to find those that match. */
const mostOpened = 500;
const opensAtOnce = 50;

/** A page of packages, newest first, without those that do not match. */
async function packagePage(router: Router, { packages }: Moments, query: Query) {
  const { limit = 50, cursor, ...filter } = query;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const shown: object[] = [];
  let before = cursor;
  for (let opened = 0; opened < mostOpened; ) {
    const page = await packages.list({ limit: isFiltered ? opensAtOnce : limit, before });
    opened += page.packages.length;
    for (const entry of page.packages) {
      if (isFiltered && !isMatch(entry, filter)) continue;
      const one = await shownEntry(router, entry);
      if (isFiltered && entry.manifest !== undefined && one.feedback === null) continue;
      shown.push(one);
      if (shown.length < limit) continue;
      const isLast = page.next === null && entry === page.packages.at(-1);
      return { packages: shown, cursor: isLast ? null : entry.name };
    }
    if (page.next === null) return { packages: shown, cursor: null };
    before = page.next;
  }
  return { packages: shown, cursor: before };
}

async function shownEntry(router: Router, { manifest, status, ...entry }: PackageEntry) {
  const listed = manifest && (await listedManifest(router, manifest));
  const isShown = typeof listed !== "string";
  const detail = isShown ? entry.detail : listed;
  return { ...entry, detail, feedback: (isShown && listed) || null, status: status ?? null };
}
