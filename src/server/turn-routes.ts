import type { Context } from "hono";
import { z } from "zod";
import { checkChatId } from "../core/chat/chat-log.ts";
import type { Turn, TurnProgress } from "../core/turns/turn.ts";
import { messageIdFor, retryIdFor } from "./idempotency.ts";
import type { Answer } from "./operation.ts";
import { reportError } from "./problem.ts";
import { disconnect, type Env, json, type Ports, type Router } from "./router.ts";
import { answerBody, body, name, named, schemaOf, text } from "./schemas.ts";
import { EventStream, eventResponse } from "./sse.ts";
import { answerJson, messageJson, retryJson, spoken } from "./wire.ts";

const answers: Record<number, Answer> = {
  200: {
    says: "Both messages are stored. The answer may be partial.",
    schema: schemaOf("answer"),
    types: ["text/event-stream"],
  },
};
const streams =
  "With `Accept: text/event-stream` the reply is streamed: `accepted` (the message is stored), " +
  "`notice`, `retrying` (the provider was not ready and is called again in `seconds`: `reason`, " +
  "`attempt` and, in `detail`, its own words), `text`, `reasoning` (what the model thinks, where its " +
  "provider sends that), `message` (a tool's call or result is stored: `{ message }`, as " +
  "`GET …/messages` shows it; a call's message holds the `text` and `reasoning` since the one before), " +
  "then `result` (what JSON would have been) or `error` (a problem). Disconnecting does not stop the turn.";

const newMessage = () =>
  body("NewMessage", {
    content: z.string().describe("What the person says. Kept word for word."),
    name: text(200).optional().describe("Who of a group says it. On one line."),
    provider: named(),
    model: named(),
  });
const retryBody = () =>
  body("Retry", {
    message_id: text(256)
      .optional()
      .describe("The id of the newest message, so that no other is retried by mistake."),
    provider: name().optional(),
    model: name().optional(),
  });
const stopBody = () =>
  body("Stop", {
    turn_id: text(256)
      .optional()
      .describe("The turn that is meant, so that the next one is not stopped by mistake."),
  });

/** Turns: send a message, stop the reply, answer or dismiss what has no reply. */
export function addTurnRoutes(router: Router): void {
  addMessage(router);
  addRetry(router);
  addChoice(router);
  addRecovery(router);
  addStop(router);
  addTakingUp(router);
}

function addMessage(router: Router): void {
  const { turns } = router.ports;
  router.post("/api/chats/{id}/messages", {
    id: "sendMessage",
    body: newMessage,
    form: { content: "" },
    answers,
    headers: () => z.object({ "Idempotency-Key": z.string().optional() }),
    summary: "Send a message and get the reply",
    description:
      `${streams}\n\nThe message is stored before a model is asked. While a turn runs, the next ` +
      "message waits; when too many wait, it is 503 and nothing is stored. A message with files is a form: " +
      "`content`, `name`, `provider` and `model` as its fields, and each file as a part called `file`; at most 10 " +
      "files and 20 MiB in all. If the model wrote nothing " +
      "it is 502, and the message is kept: it can be answered until the next message.\n\nThe same " +
      "`Idempotency-Key` (1 to 255 printable ASCII characters) is the same message for good: its " +
      "turn is joined or its answer sent again, and a turn that failed is tried again. With " +
      "other content or other files it is 409, also once it or its answer was taken back, erased or cleared, or " +
      "its chat forgotten.",
    answer: async ({ params, body, files }, context) => {
      const key = context.req.header("idempotency-key");
      const { content, name, provider, model } = body;
      const isBusy = turns.running(params.id) !== undefined;
      const turn = turns.submit(params.id, {
        content,
        name,
        attachments: files,
        id: key === undefined ? undefined : messageIdFor(key),
        provider,
        model,
      });
      return outcomeOf(router.ports, turn, isBusy, context);
    },
  });
}

function addRetry(router: Router): void {
  const { turns } = router.ports;
  router.post("/api/chats/{id}/retry", {
    id: "retryMessage",
    body: retryBody,
    answers,
    headers: () => z.object({ "Idempotency-Key": z.string().optional() }),
    summary: "Regenerate the last reply",
    description:
      `${streams} The last reply stays in the log, hidden, once the new one is stored, and can be chosen ` +
      "again. 409: an answer is being generated, or the message has none. The same `Idempotency-Key` is the same retry, also " +
      "once more was said; it is 409 where its answer was taken back, erased or cleared since.",
    answer: async ({ params, body }, context) => {
      const key = context.req.header("idempotency-key");
      const { message_id, provider, model } = body;
      const turn = await turns.retry(params.id, {
        id: key === undefined ? undefined : retryIdFor(key),
        messageId: message_id,
        provider,
        model,
      });
      return outcomeOf(router.ports, turn, false, context);
    },
  });
}

function addChoice(router: Router): void {
  const { turns, watchers } = router.ports;
  router.post("/api/chats/{id}/messages/{message_id}/choose", {
    id: "chooseAnswer",
    summary: "Show another one of the regenerated replies",
    description:
      "Of the newest message, whose shown reply has the ids of all as `variants` in the newest page. The " +
      "chosen one is shown, exported, copied into forks and sent to models from then on, with its tool calls; " +
      "the others are hidden. 409: more was said since (fork the chat at this reply instead), something is " +
      "being answered or has no answer, or this reply was taken back, erased or cleared. Can be repeated.",
    answers: { 200: { says: "The reply that is shown now.", schema: schemaOf("message") } },
    answer: async ({ params }) => {
      const { id: chat_id, message_id } = params;
      const chosen = await turns.choose(chat_id, message_id);
      watchers.publish("message", { change: "chosen", chat_id, message_id });
      return json(messageJson(chosen));
    },
  });
}

function addRecovery(router: Router): void {
  const { turns } = router.ports;
  router.post("/api/chats/{id}/answer", {
    id: "answerMessage",
    body: answerBody,
    answers,
    summary: "Answer the oldest message that has no reply",
    description:
      `After a crash, or when the model failed. ${streams} A turn that is already running ` +
      "is joined. The answer continues after the last result of a tool. It runs on the model that the " +
      "message asked for, unless the body names another. 404: every message is answered, or more was " +
      "said since.",
    answer: async ({ params, body }, context) => {
      const isBusy = turns.running(params.id) !== undefined;
      const turn = await turns.answer(params.id, body);
      return outcomeOf(router.ports, turn, isBusy, context);
    },
  });
  router.post("/api/chats/{id}/dismiss", {
    id: "dismissMessages",
    summary: "Leave all unanswered messages without a reply, for good",
    description:
      "Messages whose turn runs or waits now are not affected. The messages stay in the chat. Can be repeated.",
    answers: { 200: { says: "How many messages that were.", schema: schemaOf("dismissed") } },
    answer: async ({ params }) => json({ dismissed: await turns.dismiss(params.id) }),
  });
}

function addStop(router: Router): void {
  router.post("/api/chats/{id}/stop", {
    id: "stopTurn",
    body: stopBody,
    summary: "Stop the running reply, and keep what was written so far",
    description: "Messages that wait for their turn are still answered. Can be repeated.",
    answers: { 200: { says: "Whether it ran.", schema: schemaOf("stopped") } },
    answer: async ({ params, body: { turn_id } }) => {
      checkChatId(params.id);
      return json({ stopped: await router.ports.turns.stopAnywhere(params.id, turn_id) });
    },
  });
}

function addTakingUp(router: Router): void {
  const { turns, watchers } = router.ports;
  router.get("/api/chats/{id}/turn", {
    id: "watchTurn",
    summary: "Follow the running turn, from its start",
    description:
      "For a client that connects late or lost its connection. The events are those of a new message.",
    answers: {
      200: { says: "Server-sent events.", types: ["text/event-stream"] },
      204: { says: "No turn runs." },
    },
    answer: ({ params }, context) => {
      checkChatId(params.id);
      const turn = turns.running(params.id);
      if (turn === undefined) return new Response(null, { status: 204 });
      const stream = watchers.open(disconnect(context));
      void sendTurn(turn, stream, problemMaker(router.ports, turn, context));
      return eventResponse(stream);
    },
  });
}

/** The result of a turn, whole or as a stream. */
async function outcomeOf(
  ports: Ports,
  turn: Turn,
  isBusy: boolean,
  context: Context<Env>,
): Promise<Response> {
  context.set("turn", turn.id);
  ports.track(turn.done);
  if (!wantsEvents(context)) return json(answerJson(spoken(await turn.done)));
  const progress = turn.progress();
  // What is refused at once gets its own status. Behind another turn that would take too long.
  const first = isBusy ? undefined : await progress.next();
  const { watcherBytes: maxBytes, keepAliveMs } = ports.limits;
  const stream = new EventStream({ maxBytes, keepAliveMs });
  void sendTurn(turn, stream, problemMaker(ports, turn, context), progress, first);
  return eventResponse(stream);
}

function problemMaker(ports: Ports, turn: Turn, context: Context<Env>): (error: unknown) => object {
  const route = context.get("route");
  const request = context.req.raw;
  return (error) => reportError(ports, error, { route, turnId: turn.id, request });
}

function wantsEvents(context: Context<Env>): boolean {
  const types = (context.req.header("accept") ?? "").split(",");
  return types.some((type) => type.split(";", 1)[0]?.trim() === "text/event-stream");
}

/**
 * Sends a turn's progress as events: `accepted`, `notice`, `retrying`, `reasoning`, `text`, `message`,
 * then `result` or `error`. Waits for the reader before each, so that nothing piles up. Disconnecting does
 * not stop the turn.
 *
 * @param first what was taken from the progress already.
 */
async function sendTurn(
  turn: Turn,
  stream: EventStream,
  failed: (error: unknown) => object,
  progress = turn.progress(),
  first?: IteratorResult<TurnProgress, void>,
): Promise<void> {
  try {
    let next = first ?? (await progress.next());
    for (; next.done !== true; next = await progress.next()) {
      if (!(await stream.flushed())) return;
      sendItem(turn, next.value, stream);
    }
  } catch (error) {
    stream.send("error", failed(error));
  } finally {
    stream.end();
    await progress.return();
  }
}

function sendItem(turn: Turn, item: TurnProgress, stream: EventStream): void {
  if (item.type === "queued") return; // the open stream says that already
  if (item.type === "accepted") {
    stream.send("accepted", { turn_id: turn.id, user: messageJson(item.user) });
  } else if (item.type === "message") {
    stream.send("message", { message: messageJson(item.message) });
  } else if (item.type === "result") stream.send("result", answerJson(spoken(item.answer)));
  else if (item.type === "retrying") stream.send("retrying", retryJson(item));
  else stream.send(item.type, { text: item.text });
}
