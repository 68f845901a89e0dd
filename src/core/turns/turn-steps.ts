// A tool's call is stored before the tool runs, and its result as soon as the tool has returned.

import { historyView } from "../chat/history-view.ts";
import type { ModelInput, StoredMessage } from "../chat/message.ts";
import { stepNumber, stepPrefix } from "../chat/turn-ids.ts";
import type { Json, JsonObject } from "../json.ts";
import { thrown } from "../logger.ts";
import {
  type OfferedTools,
  type Responder,
  type ResponderEvent,
  type ResponderTool,
  type TurnTool,
  type TurnTools,
  toolFailed,
} from "../models/responder.ts";
import { sha256 } from "../sha256.ts";
import { inSpan } from "../telemetry.ts";
import { answerLimits, fitText } from "./answer-limits.ts";
import { answeredBy } from "./ended.ts";
import { BrokenContract } from "./responder-contract.ts";
import type { Asking } from "./run.ts";
import { TurnLog } from "./turn-log.ts";

type ToolCall = Extract<ResponderEvent, { readonly type: "tool-call" }>["call"];
type ToolResult = Extract<ResponderEvent, { readonly type: "tool-result" }>;

type Running = Pick<Asking, "chats" | "turn" | "begun" | "responder" | "logger" | "timers">;

/** How long a responder may be silent whose tool waits for its call, in milliseconds: it awaits the tool. */
const silentMs = 1_000;

type Fields = { [field: string]: Json };

interface RecordedCall {
  readonly number: number;
  readonly call: ToolCall;
  isStarted: boolean;
  hasResult: boolean;
}

/** What a model said and thought before it called a tool, and what it wants to see again of that. */
interface SaidBefore {
  readonly text: string;
  readonly reasoning: string;
  readonly data: JsonObject | undefined;
}

/**
 * The calls and results of one turn, of this attempt at it and of those before. Each is an append of
 * its own; a turn without tools has none.
 */
export class TurnSteps {
  readonly #running: Running;
  readonly #calls: RecordedCall[] = [];
  readonly #stored: StoredMessage[] = [];
  /** Tools that a responder started before its call was stored. */
  #waiting: {
    readonly callId: string;
    readonly start: (call?: RecordedCall) => void;
    readonly refuse: () => void;
  }[] = [];
  #stopWatch: (() => void) | undefined;
  /** An event is being stored. */
  #isBusy = false;
  readonly #broken = new AbortController();
  #storing: Promise<unknown> = Promise.resolve();
  #lastNumber = 0;
  #bytes = 0;
  #isOver = false;
  #isUsed = false;

  private constructor(running: Running) {
    this.#running = running;
  }

  static async begin(running: Running): Promise<TurnSteps> {
    const steps = new TurnSteps(running);
    if (!running.begun.isNew) await steps.#readEarlier();
    return steps;
  }

  async #readEarlier(): Promise<void> {
    const { chats, turn, begun } = this.#running;
    const log = await TurnLog.read(chats, turn.chatId, begun.user);
    // The number of an erased one is not used again.
    for (const id of log.ids) {
      this.#lastNumber = Math.max(this.#lastNumber, stepNumber(id, turn) ?? 0);
    }
    for (const message of log.shown) {
      const number = stepNumber(message.id, turn);
      if (number === undefined) continue;
      this.#stored.push(message);
      this.#bytes += Buffer.byteLength(JSON.stringify(message));
      const [call] = message.tool_calls ?? [];
      const answered = this.#calls.find((each) => each.number === number);
      if (call !== undefined) {
        this.#calls.push({ number, call, isStarted: true, hasResult: false });
      } else if (answered !== undefined) answered.hasResult = true;
    }
  }

  /** Whether this attempt stored any. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Whether the model has said something in this turn before it called a tool. */
  get hasWords(): boolean {
    return this.#stored.some(({ role, content }) => role === "assistant" && content.trim() !== "");
  }

  /** Fires when one could not be stored: then nothing more may be asked of the model. */
  get signal(): AbortSignal {
    return this.#broken.signal;
  }

  /** What is stored so far, for the model that continues this turn. */
  messagesFor(target: Pick<Responder, "provider" | "model" | "window">): readonly ModelInput[] {
    if (this.#stored.length === 0) return [];
    // A retry that is not finished and a period that ended hide them from other turns alone.
    const steps = this.#stored.map(({ hidden: _, replaced: __, ...step }) => ({
      ...step,
      id: `${step.seq}`,
    }));
    const { provider, model, window } = target;
    const records = [this.#running.begun.user, ...steps] as StoredMessage[];
    return historyView(records, { provider, model, window }).messages.slice(1);
  }

  /** The tools as a responder gets them: each run waits until its call is stored. */
  offer({ instructions, tools }: TurnTools): OfferedTools {
    return { instructions, tools: tools.map((tool) => this.#offered(tool)) };
  }

  #offered(tool: TurnTool): ResponderTool {
    const { name, description, parameters } = tool;
    const run = async (args: unknown, { id }: ToolCall) => {
      const recorded = await this.#toStart(id, name);
      if (recorded === undefined) throw new Error("the call could not be stored");
      return this.#run(tool, recorded, args);
    };
    return { name, description, parameters, run };
  }

  /**
   * Refuses the tools that wait once their responder is silent: it awaits what waits for it.
   *
   * @param isBusy an event is being stored.
   */
  watch(isBusy: boolean): void {
    this.#isBusy = isBusy;
    this.#stopWatch?.();
    if (this.#waiting.length === 0 || isBusy) return;
    const refuse = () => {
      for (const each of this.#waiting.splice(0)) each.refuse();
    };
    this.#stopWatch = this.#running.timers.after(silentMs, refuse, { holdsProcess: true });
  }

  async #toStart(callId: string, tool: string): Promise<RecordedCall | undefined> {
    const stored = this.#calls.find(
      ({ call, isStarted, hasResult }) => call.id === callId && !isStarted && !hasResult,
    );
    if (stored !== undefined) {
      stored.isStarted = true;
      return stored;
    }
    if (this.#isOver) return undefined;
    return new Promise((start, reject) => {
      const says = `calls \`run\` of the tool ${tool} before it yields its \`tool-call\` event`;
      this.#waiting.push({ callId, start, refuse: () => reject(new BrokenContract(says)) });
      this.watch(this.#isBusy);
    });
  }

  async #run(tool: TurnTool, recorded: RecordedCall, args: unknown): Promise<string> {
    let result: unknown;
    try {
      result = await tool.run(args, recorded.call, this.#keyOf(recorded));
    } catch (error) {
      const { turn, logger } = this.#running;
      const where = { chat: turn.chatId, turn: turn.id, tool: tool.name };
      logger.error({ ...where, ...thrown(error) }, "a tool threw");
      throw error;
    }
    const content = typeof result === "string" ? result : (JSON.stringify(result) ?? "");
    await this.#storeResult(recorded, { content, isError: false });
    return content;
  }

  #keyOf({ number }: RecordedCall): string {
    const { turn } = this.#running;
    const name = JSON.stringify([turn.chatId, `${stepPrefix("call", turn)}${number}`]);
    return sha256(name).toString("hex");
  }

  /**
   * Runs the calls again that have no result, where the tool says that this does no harm. The other
   * ones stay without a result.
   */
  async repeat(tools: TurnTools | undefined): Promise<void> {
    const { signal, span } = this.#running.turn;
    for (const recorded of this.#calls.filter(({ hasResult }) => !hasResult)) {
      const { name, arguments: written } = recorded.call.function;
      const tool = tools?.tools.find((each) => each.name === name);
      const args = parsed(written);
      if (tool?.repeatable !== true || args === undefined || signal.aborted) continue;
      const failed = { content: toolFailed, isError: true };
      const start = { type: "tool", tool: name, callId: recorded.call.id } as const;
      const run = inSpan(span, start, () => this.#run(tool, recorded, args)).catch(() =>
        this.#storeResult(recorded, failed),
      );
      await untilAborted(run, signal);
      if (this.signal.aborted) throw this.signal.reason;
    }
  }

  /** Whether one more call and its result can be kept. */
  hasRoomFor(call: ToolCall, { text }: SaidBefore): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(call)) + Buffer.byteLength(text);
    const isRoom = this.#bytes + bytes <= answerLimits.toolBytes;
    return isRoom && this.#lastNumber < answerLimits.toolCalls;
  }

  /** Stores a call with what was said before it. Its tool may run once this resolves. */
  async call(call: ToolCall, { text, reasoning, data }: SaidBefore): Promise<void> {
    const number = ++this.#lastNumber;
    const fields: Fields = { role: "assistant", content: text };
    if (reasoning !== "") fields["reasoning_content"] = reasoning;
    fields["tool_calls"] = [call as ToolCall & JsonObject];
    if (data !== undefined) fields["provider_data"] = data;
    const callRecordId = `${stepPrefix("call", this.#running.turn)}${number}`;
    await this.#store(callRecordId, fields);
    const recorded = { number, call, isStarted: false, hasResult: false };
    this.#calls.push(recorded);
    const waits = this.#waiting.find(({ callId }) => callId === call.id);
    if (waits === undefined) return;
    recorded.isStarted = true;
    this.#waiting = this.#waiting.filter((each) => each !== waits);
    waits.start(recorded);
  }

  /** Stores a result that the responder reports, if it is not stored yet. */
  async result({ toolCallId, content, isError }: ToolResult): Promise<void> {
    const recorded = this.#calls.findLast(
      ({ call, hasResult }) => call.id === toolCallId && !hasResult,
    );
    if (recorded !== undefined) await this.#storeResult(recorded, { content, isError });
  }

  async #storeResult(
    recorded: RecordedCall,
    { content, isError }: { readonly content: string; readonly isError: boolean },
  ): Promise<void> {
    recorded.hasResult = true;
    const room = Math.max(0, answerLimits.toolBytes - this.#bytes);
    const kept = fitText(content, Math.min(answerLimits.textBytes, room));
    const { call, number } = recorded;
    const fields: Fields = { role: "tool", content: kept, tool_call_id: call.id };
    fields["name"] = call.function.name;
    if (isError) fields["is_error"] = true;
    await this.#store(`${stepPrefix("result", this.#running.turn)}${number}`, fields);
  }

  /** One after the other, so that they are published in the order in which they are stored. */
  async #store(id: string, fields: Fields): Promise<void> {
    if (this.#isOver) return;
    this.#isUsed = true;
    const stored = this.#storing.then(() => this.#append(id, fields));
    this.#storing = stored.catch(() => undefined); // thrown here, and by end()
    await stored;
  }

  async #append(id: string, fields: Fields): Promise<void> {
    const { chats, turn, begun, responder } = this.#running;
    try {
      turn.assertUnfenced();
      await chats.changeExisting(turn.chatId, (transaction) =>
        transaction.message({ id, ...fields, ...answeredBy(transaction, turn, begun, responder) }),
      );
      const message = await chats.find(turn.chatId, id);
      if (message === undefined) return; // it was erased at once
      this.#bytes += Buffer.byteLength(JSON.stringify(message));
      this.#stored.push(message);
      turn.add({ type: "message", message });
    } catch (error) {
      this.#broken.abort(error);
      throw error;
    }
  }

  /**
   * Ends the attempt: what a tool returns from now on is not stored. Call it before the answer is
   * stored. @throws what one of them could not be stored for.
   */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#stopWatch?.();
    for (const { start } of this.#waiting) start();
    await this.#storing;
    if (this.signal.aborted) throw this.signal.reason;
  }
}

/** As the model wrote them. `undefined`: no tool was run with these. */
function parsed(written: string): unknown {
  try {
    return JSON.parse(written === "" ? "{}" : written);
  } catch {
    return undefined; // not JSON: said above
  }
}

/** Waits for work, or no longer once the turn is stopped. */
function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  const aborted = new Promise((resolve) =>
    signal.addEventListener("abort", resolve, { once: true }),
  );
  return Promise.race([work, aborted]);
}
