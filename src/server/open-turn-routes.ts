// Turns whose model the client calls: `Turns.open` over HTTP.
import { z } from "zod";
import { attachmentsOf } from "../core/chat/attachments.ts";
import { notFound } from "../core/chat/chat-log.ts";
import type { MessageInput } from "../core/chat/message-input.ts";
import type { ProviderModel } from "../core/chat/provider-sessions.ts";
import { isThroughlineError, ThroughlineError } from "../core/errors.ts";
import { systemTimers } from "../core/timers.ts";
import type { Opened, OpenInput, OpenTurn, TurnEnd } from "../core/turns/open-turn.ts";
import { shownStill, storedAnswer, turnOnRecord } from "../core/turns/stored-answer.ts";
import { Turn, type TurnAnswer } from "../core/turns/turn.ts";
import { storedWords } from "../core/turns/unanswered.ts";
import { json, type Ports, type Router } from "./router.ts";
import {
  chatParams,
  openTurnBody,
  schemaOf,
  turnEndBody,
  turnParams,
  turnSteps,
} from "./schemas.ts";
import { answerJson, messageJson } from "./wire.ts";

/** Adds the turns whose model the client calls. @returns what fails those that are open. */
export function addOpenTurnRoutes(router: Router): () => void {
  const open = new OpenTurns(router.ports);
  addBegin(router, open);
  addList(router, open);
  addSteps(router, open);
  addEnd(router, open);
  return () => open.end();
}

function addBegin(router: Router, open: OpenTurns): void {
  const { newId, throughline } = router.ports;
  const { chats } = throughline;
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/turns",
      id: "beginTurn",
      params: chatParams,
      body: openTurnBody,
      summary: "Begin a turn whose model you call yourself",
      description:
        "Stores the message before it answers. Until the turn ends no other turn runs in the chat: this waits " +
        "for the one that runs, and the next message waits for this. The same `id` is the same turn: one that is " +
        "open is `open` again, with the steps that are stored, also after you or the server died; one that ended is " +
        "`answered`, with all it stored; one that the server's own model answers is `running` (follow it at " +
        "`GET …/turn`). Without `content` a stored message is taken up: that of the `id`, or the oldest without an " +
        "answer. Send every request of a turn to the same server. A turn of which nothing is heard for 10 minutes " +
        "fails, and its message stays unanswered. 409: this `id` is of other content, or was taken back, erased " +
        "or cleared since.",
      answers: { 200: { says: "What became of the message.", schema: schemaOf("openedTurn") } },
    },
    async ({ params, body }, context) => {
      const { content, provider, model, id, name } = body;
      const input: OpenInput & { readonly id: string } =
        content === undefined
          ? await storedWords(chats, params.id, id)
          : { content, name, id: id ?? newId() };
      context.set("turn", input.id);
      const opened = await open.begin(params.id, input, { provider, model });
      if (opened.state === "running") return json({ state: "running", turn_id: input.id });
      if (opened.state === "answered") {
        const { user, messages } = opened;
        const shown = messages.map(messageJson);
        const turn = { turn_id: user.id, user: messageJson(user), messages: shown };
        return json({ state: "answered", ...turn });
      }
      const { user, attempt, resolution, instructions, context: changes, signal } = opened.turn;
      const { messages } = await turnOnRecord(chats, params.id, user);
      return json({
        state: "open",
        turn_id: user.id,
        user: messageJson(user),
        messages: messages.map(messageJson),
        attempt,
        session: resolution.period,
        session_id: resolution.period.session_id,
        is_new: resolution.isNew,
        reason: resolution.reason,
        instructions,
        context: changes,
        stopped: signal.aborted,
      });
    },
  );
}

function addList(router: Router, open: OpenTurns): void {
  const { turns, throughline } = router.ports;
  router.add(
    {
      method: "get",
      path: "/api/chats/{id}/turns",
      id: "listTurns",
      params: chatParams,
      query: () => z.strictObject({ open: z.literal("true", "must be true") }),
      summary: "List the turns of a chat that have no answer, oldest first",
      description:
        "`open`: a client has it open on this server. `running`: it runs or waits, here or on another server. " +
        "`unanswered`: it was cut off, or failed. Begin either with its id to take it up.",
      answers: { 200: { says: "Their ids and states.", schema: schemaOf("openTurns") } },
    },
    async ({ params: { id } }) => {
      const { open_turn, pending = [] } = (await throughline.chats.existing(id)).head;
      const ids = open_turn === undefined ? pending : [open_turn.id, ...pending];
      const state = (await turns.isRunning(id)) ? "running" : "unanswered";
      const stateOf = (turn: string) => (open.has(id, turn) ? "open" : state);
      return json({ turns: ids.map((turn_id) => ({ turn_id, state: stateOf(turn_id) })) });
    },
  );
}

function addSteps(router: Router, open: OpenTurns): void {
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/turns/{turn}/steps",
      id: "keepSteps",
      params: turnParams,
      body: turnSteps,
      summary: "Store what the model said and what tools returned so far in an open turn",
      description:
        "All or none. What this answers survives a crash: the same turn, begun again, has it in `messages`. Store a " +
        "tool's call before you run it, and its result before you go on. Give each message an id, so that a " +
        "repeated request stores nothing twice. 409: the turn is not open here; begin it again.",
      answers: { 200: { says: "Their ids.", schema: schemaOf("keptSteps") } },
    },
    async ({ params, body }) => {
      const turn = open.find(params.id, params.turn);
      if (turn === undefined) throw notOpen();
      const stored = await turn.keep(body.messages as readonly MessageInput[]);
      return json({ ids: stored.map(({ id }) => id), stopped: turn.signal.aborted });
    },
  );
}

function addEnd(router: Router, open: OpenTurns): void {
  router.add(
    {
      method: "post",
      path: "/api/chats/{id}/turns/{turn}/end",
      id: "endTurn",
      params: turnParams,
      body: turnEndBody,
      summary:
        "End an open turn: its answer, what it used and the provider's session, in one write",
      description:
        "After a crash all of it is stored, or the turn is still to be answered. A repeated request answers what was " +
        "stored. `failed` without a message leaves the user's message unanswered. 409: the turn is not open here and " +
        "has no answer; begin it again.",
      answers: { 200: { says: "What is stored.", schema: schemaOf("answer") } },
    },
    async ({ params, body }) => {
      const { id, turn: turnId } = params;
      const turn = open.find(id, turnId);
      const again = () => answered(router.ports, id, turnId);
      if (turn === undefined) return json(answerJson(await again()));
      const { input_tokens, output_tokens, cached_input_tokens, cost_usd } = body.usage ?? {};
      const end: TurnEnd = {
        messages: cutBy(body.partial_reason, (body.messages ?? []) as readonly MessageInput[]),
        usage: {
          inputTokens: input_tokens ?? undefined,
          outputTokens: output_tokens ?? undefined,
          cachedInputTokens: cached_input_tokens,
          costUsd: cost_usd ?? undefined,
        },
        outcome: body.outcome ?? "answered",
        model: body.model,
        providerSessionId: body.session_id,
        usedContext: body.used_context,
      };
      const answer = await turn.close(end).catch(async (error: unknown) => {
        // The same request may be under way, or have just ended it.
        if (!isThroughlineError(error, "THROUGHLINE_CONFLICT")) throw error;
        await turn.ended;
        return again();
      });
      return json(answerJson(answer));
    },
  );
}

/** The answer of a turn that has ended. @throws ThroughlineError `THROUGHLINE_CONFLICT`: it has none. */
async function answered({ throughline }: Ports, chatId: string, id: string): Promise<TurnAnswer> {
  const { chats } = throughline;
  const user = await shownStill(chats, chatId, id);
  if (user?.role !== "user") throw notFound(chatId, "turn");
  const { content } = user;
  const turn = new Turn({ chatId, id, content, attachments: attachmentsOf(user) });
  return (await storedAnswer(chats, turn)) ?? Promise.reject(notOpen());
}

/** Marks the answer as one that its model cut. */
function cutBy(
  reason: "length" | "content_filter" | undefined,
  messages: readonly MessageInput[],
): readonly MessageInput[] {
  const last = messages.findLast(({ role }) => role === "assistant");
  if (reason === undefined) return messages;
  return messages.map((each) =>
    each === last ? { ...each, partial: true, partial_reason: reason } : each,
  );
}

/** The turns that clients have open here. */
class OpenTurns {
  readonly #ports: Ports;
  /** Those that wait for their chat. */
  readonly #opening = new Map<string, Promise<Opened>>();
  /** Each with what restarts the wait for its client. */
  readonly #open = new Map<string, { readonly turn: OpenTurn; readonly heard: () => void }>();
  #isOver = false;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Opens the turn of a message. A repeated call joins the first, also while that waits for its chat. */
  async begin(
    chatId: string,
    input: OpenInput & { readonly id: string },
    target: ProviderModel,
  ): Promise<Opened> {
    const key = keyOf(chatId, input.id);
    const before = this.#opening.get(key);
    const opening = this.#ports.turns.open(chatId, input, target);
    if (before === undefined) this.#opening.set(key, opening);
    try {
      const opened = await opening;
      if (opened.state === "open") this.#hold(key, opened.turn);
      if (opened.state !== "running") return opened;
      const turn = this.find(chatId, input.id);
      return turn === undefined ? (before ?? opened) : { state: "open", turn };
    } finally {
      if (before === undefined) this.#opening.delete(key);
    }
  }

  has(chatId: string, id: string): boolean {
    return this.#open.has(keyOf(chatId, id));
  }

  /** The open turn, whose client was heard now. */
  find(chatId: string, id: string): OpenTurn | undefined {
    const found = this.#open.get(keyOf(chatId, id));
    found?.heard();
    return found?.turn;
  }

  #hold(key: string, turn: OpenTurn): void {
    const fail = () => this.#ports.track(turn.fail());
    if (this.#isOver) fail();
    const wait = () => systemTimers.after(this.#ports.limits.openTurnMs, fail);
    let cancel = wait();
    const heard = () => {
      cancel();
      cancel = wait();
    };
    this.#open.set(key, { turn, heard });
    const ended = () => {
      cancel();
      this.#open.delete(key);
    };
    turn.ended.then(ended, ended);
  }

  /** Fails what is open: its client can take it up at the next server. */
  end(): void {
    this.#isOver = true;
    for (const { turn } of this.#open.values()) this.#ports.track(turn.fail());
  }
}

const keyOf = (chatId: string, id: string) => JSON.stringify([chatId, id]);

function notOpen(): ThroughlineError {
  return new ThroughlineError(
    "this turn is not open on this server: begin it again with the id of its message",
    { code: "THROUGHLINE_CONFLICT" },
  );
}
