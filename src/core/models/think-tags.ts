import type { StreamPart } from "./model-call.ts";

const opening = "<think>";
const closing = "</think>";

/**
 * Makes reasoning of a thought that stands in tags before an answer, as llama.cpp, vLLM and LM Studio pass it on.
 * Tags further on are a part of the answer.
 */
export function thinkTagsToReasoning(): TransformStream<StreamPart, StreamPart> {
  const blocks = new Map<string, Block>();
  return new TransformStream({
    transform(part, controller) {
      const put = (more: StreamPart) => controller.enqueue(more);
      if (part.type === "text-start") blocks.set(part.id, new Block(part, put));
      else if (part.type === "text-delta") blocks.get(part.id)?.add(part.delta);
      else if (part.type === "text-end") blocks.get(part.id)?.end(part);
      else put(part);
    },
  });
}

type Start = Extract<StreamPart, { type: "text-start" }>;
type End = Extract<StreamPart, { type: "text-end" }>;

/** One block of text of an answer. */
class Block {
  readonly #start: Start;
  readonly #put: (part: StreamPart) => void;
  readonly #thought: string;
  #state: "new" | "thought" | "between" | "text" = "new";
  #held = "";

  constructor(start: Start, put: (part: StreamPart) => void) {
    this.#start = start;
    this.#put = put;
    this.#thought = `${start.id}-thought`;
  }

  add(delta: string): void {
    this.#held += delta;
    if (this.#state === "new") this.#begin();
    if (this.#state === "thought") this.#think();
    if (this.#state === "between" && this.#held.trim() !== "") {
      this.#held = this.#held.trimStart();
      this.#beginText();
    }
    if (this.#state === "text") this.#putText();
  }

  end(part: End): void {
    if (this.#state === "thought") {
      this.#putThought(this.#held);
      this.#put({ type: "reasoning-end", id: this.#thought });
    }
    if (this.#state === "new") this.#beginText();
    if (this.#state !== "text") return;
    this.#putText();
    this.#put(part);
  }

  #begin(): void {
    const text = this.#held.trimStart();
    if (text.startsWith(opening)) {
      this.#held = text.slice(opening.length);
      this.#state = "thought";
      this.#put({ type: "reasoning-start", id: this.#thought });
    } else if (!opening.startsWith(text)) this.#beginText();
  }

  #think(): void {
    const at = this.#held.indexOf(closing);
    if (at >= 0) {
      this.#putThought(this.#held.slice(0, at));
      this.#put({ type: "reasoning-end", id: this.#thought });
      this.#held = this.#held.slice(at + closing.length);
      this.#state = "between";
      return;
    }
    let kept = Math.min(closing.length - 1, this.#held.length); // it may be the beginning of the tag
    while (!closing.startsWith(this.#held.slice(this.#held.length - kept))) kept--;
    const sure = this.#held.length - kept;
    this.#putThought(this.#held.slice(0, sure));
    this.#held = this.#held.slice(sure);
  }

  #putThought(delta: string): void {
    if (delta !== "") this.#put({ type: "reasoning-delta", id: this.#thought, delta });
  }

  #beginText(): void {
    this.#state = "text";
    this.#put(this.#start);
  }

  #putText(): void {
    const { id } = this.#start;
    if (this.#held !== "") this.#put({ type: "text-delta", id, delta: this.#held });
    this.#held = "";
  }
}
