// A message as a stream: as it is made, and as a page gets it that was not there.
import type { JsonObject } from "../../core/json.ts";
import { isToolPart, type Message, type Part, type ToolPart, toolName } from "./ui-message.ts";

/** One piece of a stream of the AI SDK's UI messages, as JSON. */
export interface Chunk extends JsonObject {
  readonly type: string;
}

export const startOf = ({ id, metadata }: Pick<Message, "id" | "metadata">): Chunk => ({
  type: "start",
  messageId: id,
  messageMetadata: metadata,
});

/**
 * The end of an answer that is whole. A page shows that a step began with what comes after that: without this start, an
 * empty last step would not be shown, and a page that continues by itself would send the results before it without end.
 */
export const finishOf = (id: string, finish: Chunk = { type: "finish" }): readonly Chunk[] => [
  { type: "start", messageId: id },
  finish,
];

/** The stream of an answer as it is made. Those who read may come late (all is replayed) and leave (nothing stops). */
export class AnswerStream {
  readonly #before: Message;
  readonly #chunks: Chunk[] = [];
  #isOver = false;
  #wake = Promise.withResolvers<void>();

  /** @param before the message as it was when this began. */
  constructor(before: Message) {
    this.#before = before;
  }

  add(chunk: Chunk): void {
    this.#chunks.push(chunk);
    this.#stir();
  }

  end(): void {
    this.#isOver = true;
    this.#stir();
  }

  /** @param known what the reader has of the message: only the rest is sent. */
  async *read(known: readonly Part[] = []): AsyncGenerator<Chunk, void, undefined> {
    yield startOf(this.#before);
    yield* chunksOf(this.#before.parts, known);
    for (let next = 0; ; ) {
      const chunk = this.#chunks[next];
      if (chunk !== undefined) {
        next++;
        yield chunk;
      } else if (this.#isOver) return;
      else await this.#wake.promise;
    }
  }

  #stir(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }
}

/**
 * What makes these parts of a message, from none.
 *
 * @param known what the page has already of the same message: only what it lacks is sent.
 */
export function chunksOf(parts: readonly Part[], known: readonly Part[] = []): readonly Chunk[] {
  const chunks: Chunk[] = [];
  for (const [index, part] of parts.entries()) {
    const before = known[index];
    if (before === undefined) chunks.push(...partChunks(part, String(index)));
    else if (isToolPart(part) && isToolPart(before) && part.state !== before.state) {
      chunks.push(...resultChunks(part));
    }
  }
  return chunks;
}

function partChunks(part: Part, id: string): readonly Chunk[] {
  if (part.type === "step-start") return [{ type: "start-step" }];
  if (part.type === "text" || part.type === "reasoning") return textChunks(part, id);
  if (isToolPart(part)) {
    const isError = part.state === "output-error";
    return [...callChunks(part), ...(isError ? [] : resultChunks(part))];
  }
  return [part]; // files, sources, data and what else is sent as it is kept
}

function textChunks(part: Part, place: string): readonly Chunk[] {
  const { type, text = "", id = place, providerMetadata, citations } = part;
  const start = { type: `${type}-start`, id };
  const delta = { type: `${type}-delta`, id, delta: text };
  const end = { type: `${type}-end`, id, citations, providerMetadata };
  return [start, delta, end];
}

/** A call; one that failed comes whole, with its input. */
function callChunks(part: ToolPart): readonly Chunk[] {
  const { toolCallId, input, providerExecuted, title, toolMetadata, state } = part;
  const call = {
    toolCallId,
    toolName: toolName(part),
    providerExecuted,
    title,
    toolMetadata,
    providerMetadata: part["callProviderMetadata"],
    dynamic: part.type === "dynamic-tool" || undefined,
  };
  if (state === "output-error") {
    const { errorText, resultProviderMetadata: providerMetadata } = part;
    const failed = { ...call, input: input ?? null, errorText, providerMetadata };
    const begun = { type: "tool-input-start", ...call };
    return [begun, ...approvalChunks(part), { type: "tool-input-error", ...failed }];
  }
  if (state !== "output-available" && state !== "input-streaming") {
    return [{ type: "tool-input-available", ...call, input }];
  }
  // Not as a whole: a page runs its own tool when a whole call arrives, and this one has run.
  const { rawInput, inputEncoding } = part;
  const isText = typeof input === "string";
  const text = typeof rawInput === "string" ? rawInput : isText ? input : JSON.stringify(input);
  const encoding = inputEncoding ?? (isText && rawInput === undefined ? "text" : undefined);
  const start = { type: "tool-input-start", ...call, inputEncoding: encoding };
  if (text === undefined) return [start];
  return [start, { type: "tool-input-delta", toolCallId, inputTextDelta: text }];
}

function resultChunks(part: ToolPart): readonly Chunk[] {
  const { toolCallId, state, output, errorText, providerExecuted, toolMetadata } = part;
  const chunks: Chunk[] = [...approvalChunks(part)];
  const result = {
    toolCallId,
    providerExecuted,
    toolMetadata,
    providerMetadata: part["resultProviderMetadata"],
  };
  if (state === "output-available") {
    const { preliminary } = part;
    chunks.push({ type: "tool-output-available", ...result, output: output ?? null, preliminary });
  } else if (state === "output-error") {
    chunks.push({ type: "tool-output-error", ...result, errorText });
  } else if (state === "output-denied") {
    chunks.push({ type: "tool-output-denied", toolCallId });
  }
  return chunks;
}

/** What a person was asked about a call, and answered. */
function approvalChunks({ toolCallId, approval }: ToolPart): readonly Chunk[] {
  if (typeof approval !== "object" || approval === null || Array.isArray(approval)) return [];
  const { id, approved, reason, requestReason, descriptor, ...asked } = approval as JsonObject;
  const { inputSchemaInput, isAutomatic, signature } = asked;
  const request: Chunk = {
    type: "tool-approval-request",
    approvalId: id,
    toolCallId,
    approvalDescriptor: descriptor,
    inputSchemaInput,
    isAutomatic,
    signature,
    reason: requestReason,
  };
  if (typeof approved !== "boolean") return [request];
  return [request, { type: "tool-approval-response", approvalId: id, approved, reason }];
}
