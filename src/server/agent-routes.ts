import { z } from "zod";
import type { StoredMessage } from "../core/chat/message.ts";
import type { MessageInput } from "../core/chat/message-input.ts";
import { bucketOf, type Period } from "../core/chat/period.ts";
import type { Resolution } from "../core/chat/provider-sessions.ts";
import { conflict } from "../core/errors.ts";
import type { Timers } from "../core/timers.ts";
import type { OpenTurn } from "../core/turns/open-turn.ts";
import { storedWords, TurnLog } from "../core/turns/turn-log.ts";
import { json, type Router } from "./router.ts";
import { answerBody, appendBody, body, name, schemaOf, text } from "./schemas.ts";
import { answerJson, messageJson } from "./wire.ts";

const openTurnBody = () =>
  body("OpenTurn", {
    id: text(200).optional().describe("Of the message. Made up when absent."),
    content: z.string().optional().describe("Absent: a stored message is taken up."),
    name: text(200).optional().describe("Who of a group says it. On one line."),
    provider: name().describe("Who makes the answer: any name."),
    model: name(),
  });
const cutReason = z.enum(["length", "content_filter"]).optional();
const cut = { partial: z.literal(true).optional(), partial_reason: cutReason };
const stepsOfTurn = () =>
  z
    .array(appendBody().shape.messages.element.safeExtend(cut))
    .max(1_000)
    .describe("Of the roles `assistant` and `tool`. One whose id is stored is passed over.");
const turnSteps = () => body("TurnSteps", { messages: stepsOfTurn() });
const tokens = () => z.int().min(0).nullable().optional();
const sessionId = () =>
  z.string().max(1_024).optional().describe("What the provider resumes next.");
const turnEndBody = () =>
  body("TurnEnd", {
    messages: stepsOfTurn().optional(),
    outcome: z.enum(["answered", "interrupted", "failed"]).optional(),
    usage: body("UsageOfTurn", {
      input_tokens: tokens(),
      output_tokens: tokens(),
      cost_usd: z.number().min(0).nullable().optional(),
    }).optional(),
    session_id: sessionId(),
    used_context: z.boolean().optional().describe("The model was given `context`."),
  });
const usageBody = () =>
  body("SessionUsage", {
    id: text(256).optional().describe("Counts a repeated request once."),
    provider: name(),
    model: name(),
    generation: z.int().min(1).describe("Of the session, as it was resolved."),
    bucket_generation: z.int().min(1).describe("The same, of its provider."),
    tokens: z.int().optional().describe("Negative corrects."),
    cost_usd: z.number().nullable().optional().describe("`null`: not known."),
    session_id: sessionId(),
  });

/** An open turn fails after this many milliseconds without a request: its client is gone. */
const quietMs = 600_000;
const waits = new WeakMap<OpenTurn, () => void>();

/** Adds the routes of agents that call their own model: turns (`Turns.open`), and sessions of providers. */
export function addAgentRoutes(router: Router): void {
  addBegin(router);
  addSteps(router);
  addSession(router);
}

function heard(turn: OpenTurn, timers: Timers): void {
  const cancel = waits.get(turn);
  cancel?.();
  waits.set(
    turn,
    timers.after(quietMs, () => void turn.fail()),
  );
  const end = () => waits.get(turn)?.();
  if (cancel === undefined) turn.ended.then(end, end);
}

const turnJson = (state: string, user: StoredMessage, messages: readonly StoredMessage[]) => {
  return { state, turn_id: user.id, user: messageJson(user), messages: messages.map(messageJson) };
};
const resolutionJson = ({ period, isNew, reason }: Resolution) => {
  return { session: period, session_id: period.session_id, is_new: isNew, reason };
};

function addBegin(router: Router): void {
  const { turns, newId, throughline } = router.ports;
  const { chats } = throughline;
  router.post("/api/chats/{id}/turns", {
    id: "beginTurn",
    body: openTurnBody,
    summary: "Begin a turn whose model you call yourself",
    description:
      "Stores the message. The same `id` is the same turn: `open` with its steps, also after you or the server died, " +
      "`answered` with all it stored, or `running` if the server's model answers. Without `content` a stored message is " +
      "taken up. Send all requests of a turn to one server; after 10 minutes without one the turn fails.",
    answers: { 200: { says: "What became of the message.", schema: schemaOf("openedTurn") } },
    answer: async ({ params, body }) => {
      const { content, provider, model, name, id = newId() } = body;
      const isStored = content === undefined;
      const input = isStored ? await storedWords(chats, params.id, body.id) : { id, content, name };
      const opened = await turns.open(params.id, input, { provider, model });
      if (opened.state === "answered")
        return json(turnJson("answered", opened.user, opened.messages));
      const turn = opened.state === "open" ? opened.turn : await turns.opened(params.id, input.id);
      if (turn === undefined) return json({ state: "running", turn_id: input.id });
      heard(turn, throughline.ports.timers);
      const { user, attempt, resolution, instructions, signal } = turn;
      const { kept: messages } = await TurnLog.read(chats, params.id, user);
      return json({
        ...turnJson("open", user, messages),
        ...resolutionJson(resolution),
        attempt,
        instructions,
        context: turn.context,
        stopped: signal.aborted,
      });
    },
  });
  router.get("/api/chats/{id}/turns", {
    id: "listTurns",
    query: () => z.strictObject({ open: z.literal("true", "must be true") }),
    summary: "List the turns of a chat without an answer, oldest first; begin one to take it up",
    answers: { 200: { says: "Their ids and states.", schema: schemaOf("openTurns") } },
    answer: async ({ params: { id } }) => {
      const { open_turn, pending = [] } = (await chats.existing(id)).head;
      const state = (await turns.isRunning(id)) ? "running" : "unanswered";
      const ids = open_turn === undefined ? pending : [open_turn.id, ...pending];
      return json({ turns: ids.map((turn_id) => ({ turn_id, state })) });
    },
  });
}

function addSteps(router: Router): void {
  const turnOf = async ({ id, turn: turnId }: { readonly id: string; readonly turn: string }) => {
    const turn = await router.ports.turns.opened(id, turnId);
    if (turn === undefined) {
      throw conflict("this turn is not open on this server: begin it again with the same id");
    }
    heard(turn, router.ports.throughline.ports.timers);
    return turn;
  };
  router.post("/api/chats/{id}/turns/{turn}/steps", {
    id: "keepSteps",
    body: turnSteps,
    summary: "Store what the model said and what tools returned so far in an open turn",
    description:
      "Store a tool's call before you run it. A repeated id is stored once. 409: begin the turn again.",
    answers: { 200: { says: "Their ids.", schema: schemaOf("keptSteps") } },
    answer: async ({ params, body }) => {
      const turn = await turnOf(params);
      const stored = await turn.keep(body.messages as readonly MessageInput[]);
      return json({ ids: stored.map(({ id }) => id), stopped: turn.signal.aborted });
    },
  });
  router.post("/api/chats/{id}/turns/{turn}/end", {
    id: "endTurn",
    body: turnEndBody,
    summary: "End an open turn: its answer, usage and provider's session, in one write",
    description:
      "`failed` without a message leaves the message unanswered. 409: begin the turn again, it may have ended.",
    answers: { 200: { says: "What is stored.", schema: schemaOf("answer") } },
    answer: async ({ params, body }) => {
      const turn = await turnOf(params);
      const { messages = [], usage = {}, outcome = "answered" } = body;
      const answer = await turn.close({
        messages: messages as readonly MessageInput[],
        usage: {
          inputTokens: usage.input_tokens ?? undefined,
          outputTokens: usage.output_tokens ?? undefined,
          costUsd: usage.cost_usd ?? undefined,
        },
        outcome,
        providerSessionId: body.session_id,
        usedContext: body.used_context,
      });
      return json(answerJson(answer));
    },
  });
}

function addSession(router: Router): void {
  const { chats, sessions } = router.ports.throughline;
  router.post("/api/chats/{id}/session/resolve", {
    id: "resolveSession",
    body: answerBody,
    summary: "Get the session to go on in, on this model, and what its provider can resume",
    answers: { 200: { says: "The session.", schema: schemaOf("resolved") } },
    answer: async ({ params, body }) => {
      const resolution = await sessions.resolve(params.id, body);
      const { period, ended } = resolution;
      const { session } = (await chats.existing(params.id)).head;
      const { generation } = bucketOf(session as Period, period.provider);
      return json({ ...resolutionJson(resolution), ended, bucket_generation: generation });
    },
  });
  router.post("/api/chats/{id}/session/usage", {
    id: "updateSession",
    body: usageBody,
    summary: "Count an answer that no turn made, in the session that was resolved for it",
    answers: { 200: { says: "The totals now.", schema: schemaOf("usageCounted") } },
    answer: async ({ params, body }) => {
      const { id, tokens = 0, cost_usd = 0, ...of } = body;
      const fixed = { turn: "", outcome: "answered", messages: 1 } as const;
      const delta = { ...of, ...fixed, tokens, cost_usd };
      const counted = await sessions.update(params.id, id === undefined ? delta : { ...delta, id });
      return json({ ...(await sessions.active(params.id)), counted });
    },
  });
}
