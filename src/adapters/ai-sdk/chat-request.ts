// What a chat page sends, and how it is refused.
import { STATUS_CODES } from "node:http";
import { safeValidateUIMessages } from "ai";
import {
  absent,
  errorCodes,
  errorName,
  invalid,
  isThroughlineError,
  ThroughlineError,
} from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Runtime } from "../../core/runtime.ts";
import { object, orNone, required, text, word } from "../../core/shape.ts";
import type { Message } from "./ui-message.ts";

export interface ChatRequest {
  readonly chatId: string;
  /** The newest message: a person's, or an answer that is to be continued. */
  readonly message: Message;
  readonly isRegenerate: boolean;
  /** The message that the page names: the one that was edited, or the answer that is to be made again. */
  readonly messageId: string | undefined;
  readonly body: JsonObject;
}

/** @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_MEDIA_TYPE`. */
export async function readChatRequest(request: Request): Promise<ChatRequest> {
  const type = request.headers.get("content-type") ?? "";
  // A page of another origin cannot send this type unasked.
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new ThroughlineError("this route takes application/json", {
      code: "THROUGHLINE_MEDIA_TYPE",
    });
  }
  const body = await bodyOf(request);
  const { chatId, trigger, messageId } = required(asked, body, "the body");
  const isRegenerate = trigger === "regenerate-message";
  const message = await newestOf(body, isRegenerate ? undefined : messageId);
  if (isRegenerate && message.role !== "user") throw invalid("the newest message must be a user's");
  return { chatId, message, isRegenerate, messageId, body };
}

const asked = object(
  {
    chatId: ["id", text()],
    trigger: word(["submit-message", "regenerate-message"], "submit-message"),
    messageId: orNone(text()),
  },
  "left out",
);

async function bodyOf(request: Request): Promise<JsonObject> {
  let body: unknown;
  try {
    body = await request.json();
  } catch (cause) {
    throw invalid("the body is not JSON", cause);
  }
  if (!isJsonObject(body)) throw invalid("the body must be an object");
  return body;
}

/** The only message that is read: `message`, the one of `messages` that is named, or else their last one. */
async function newestOf(
  { message, messages }: JsonObject,
  id: string | undefined,
): Promise<Message> {
  const all = Array.isArray(messages) ? messages : [];
  const isNamed = (each: unknown) => isJsonObject(each) && each["id"] === id;
  const named = id === undefined ? undefined : all.find(isNamed);
  const newest = message ?? named ?? all.at(-1);
  if (!isJsonObject(newest)) throw invalid("there must be a message, or messages with one");
  const { id: own, role } = newest;
  if (typeof own !== "string" || own === "") throw invalid("message.id must be a string");
  if (role !== "user" && role !== "assistant") {
    throw invalid("message.role must be user or assistant");
  }
  const { success } = await safeValidateUIMessages({ messages: [newest] });
  if (!success)
    throw invalid("message is not a UI message: its parts are not what the SDK accepts");
  return newest as unknown as Message;
}

/** The chat in `…/{id}/stream`. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`. */
export function chatOf(request: Request): string {
  const [last, id] = new URL(request.url).pathname.split("/").reverse();
  try {
    if (last === "stream" && id) return decodeURIComponent(id);
  } catch {
    // Not an encoded id: there is no such route.
  }
  throw absent("there is no such route: …/{id}/stream");
}

/** RFC 9457, with our code. Of an error that is not ours nothing is shown. */
export function problemResponse(error: unknown, { logger }: Pick<Runtime, "logger">): Response {
  const isOurs = isThroughlineError(error);
  const code = isOurs ? error.code : "THROUGHLINE_INTERNAL";
  const { status, says } = isOurs ? errorCodes[error.code] : { status: 500, says: "A defect." };
  if (status >= 500) logger.error({ error: errorName(error) }, "a chat page's request failed");
  const detail = isOurs && status < 500 ? error.message : says;
  const problem = { type: "about:blank", title: STATUS_CODES[status], status, detail, code };
  const headers = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify(problem), { status, headers });
}
