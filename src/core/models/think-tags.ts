import type { StreamPart } from "./ai-step.ts";

const opening = "<think>";
const closing = "</think>";

/**
 * Makes reasoning of a thought that stands in tags before an answer, as llama.cpp, vLLM and LM Studio pass it on.
 * Tags further on are a part of the answer.
 */
export async function* withThoughts(parts: AsyncIterable<StreamPart>): AsyncGenerator<StreamPart> {
  const blocks = new Map<string, Block>();
  for await (const part of parts) {
    const { type } = part;
    if (type === "text-start") blocks.set(part.id, { start: part, state: "new", held: "" });
    const isText = type === "text-start" || type === "text-delta" || type === "text-end";
    const block = isText ? blocks.get(part.id) : undefined;
    if (block !== undefined) {
      if (type === "text-delta") block.held += part.delta;
      yield* partsOf(block, type === "text-end");
    }
    if (block === undefined || (type === "text-end" && block.state === "text")) yield part;
  }
}

/** One block of text of an answer: what of it is not passed on yet, and what that is a part of. */
interface Block {
  readonly start: Extract<StreamPart, { type: "text-start" }>;
  state: "new" | "thought" | "between" | "text";
  held: string;
}

function* partsOf(block: Block, isOver: boolean): Generator<StreamPart> {
  const { start } = block;
  const thought = `${start.id}-thought`;
  if (block.state === "new") {
    const text = block.held.trimStart();
    const isThought = text.startsWith(opening);
    if (!isThought && !isOver && opening.startsWith(text)) return;
    if (isThought) block.held = text.slice(opening.length);
    block.state = isThought ? "thought" : "text";
    yield isThought ? { type: "reasoning-start", id: thought } : start;
  }
  if (block.state === "thought") {
    const end = block.held.indexOf(closing);
    const sure = end >= 0 ? end : isOver ? block.held.length : beforeTag(block.held);
    if (sure > 0) yield { type: "reasoning-delta", id: thought, delta: block.held.slice(0, sure) };
    block.held = block.held.slice(sure);
    if (end < 0 && !isOver) return;
    yield { type: "reasoning-end", id: thought };
    block.held = block.held.slice(closing.length);
    block.state = "between";
  }
  if (block.state === "between") {
    block.held = block.held.trimStart();
    if (block.held === "") return;
    block.state = "text";
    yield start;
  }
  if (block.held !== "") yield { type: "text-delta", id: start.id, delta: block.held };
  block.held = "";
}

/** How much of a thought is surely not the beginning of its closing tag. */
function beforeTag(held: string): number {
  let kept = Math.min(closing.length - 1, held.length);
  while (!closing.startsWith(held.slice(held.length - kept))) kept--;
  return held.length - kept;
}
