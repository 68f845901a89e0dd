import { checkChatId, notFound } from "../chat/chat-log.ts";
import type { Chats } from "../chat/chats.ts";
import type { FreshnessRules } from "../chat/freshness.ts";
import { ageNote } from "../chat/freshness.ts";
import {
  type ProviderModel,
  type ProviderSessions,
  periodView,
  type Target,
} from "../chat/provider-sessions.ts";
import type { WorkingMemories } from "../chat/working-memories.ts";
import type { Clock } from "../clock.ts";
import { invalid, ThroughlineError } from "../errors.ts";
import type { TurnPart } from "../extension.ts";
import type { Extensions, TurnParts } from "../extensions.ts";
import type { NewId } from "../ids.ts";
import type { Logger } from "../logger.ts";
import type { Responder, TurnTools } from "../models/responder.ts";
import { KeyedMutex } from "../mutex.ts";
import { checkId } from "../storage/batch.ts";
import { inSpan, type Telemetry } from "../telemetry.ts";
import { ask, type RunningTurn } from "./ask.ts";
import { parseIntent } from "./intent.ts";
import { beginRetry, newestWords, retriedWith } from "./retry-records.ts";
import { noticesOf } from "./rollover.ts";
import { storedAnswer } from "./stored-answer.ts";
import { Turn, type TurnAnswer } from "./turn.ts";
import { type StopAsked, TurnLeases } from "./turn-leases.ts";
import { beginTurn, type Ended, endTurn, keepPending } from "./turn-records.ts";
import { speakerOf, stillConfigured } from "./turn-target.ts";
import { dismissTurns, isDismissed, oldestUnanswered } from "./unanswered.ts";

/** The models that can be asked. */
export interface Responders {
  /** What a new period runs on. */
  readonly standard: { readonly provider: string; readonly model: string };
  /** The providers that may be asked. @default that of `standard` */
  readonly providers?: readonly string[];
  /** @throws ThroughlineError `THROUGHLINE_INVALID` or `THROUGHLINE_CONFIGURATION`: unavailable. */
  get(provider: string, model: string): Promise<Responder>;
}

export interface TurnPorts {
  readonly chats: Chats;
  readonly sessions: ProviderSessions;
  readonly memories: WorkingMemories;
  readonly responders: Responders;
  readonly rules: FreshnessRules;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  /** The stable part of every prompt. */
  readonly persona: string;
  /** How many messages may wait in one chat. */
  readonly maxQueued: number;
  readonly extensions: Extensions;
  /** What it is called, so that its name beside a command is passed over. */
  readonly companionName?: string | undefined;
  /** What models may do beside speaking, in this turn. By default nothing. */
  readonly tools?: ((turn: Turn, target: ProviderModel) => TurnTools) | undefined;
}

export interface TurnInput extends Target {
  readonly content: string;
  /** Makes a repeated submit the same turn. At most 200 bytes. Made up when absent. */
  readonly id?: string | undefined;
  /** Set when the application, not a person, tells this to the model: what it is, as `pat_hint`. */
  readonly synthetic?: string | undefined;
}

const maxTurnIdBytes = 200;
/** With the id of the turn it is the id of the answer. */
const maxRetryIdBytes = 36;

/**
 * Turns: a user message, what a model does with it, the assistant message. One at a time per chat,
 * also where several processes write the chats; the user's words are durable before a model is asked,
 * and the answer is final once it is stored.
 */
export class Turns {
  readonly #ports: TurnPorts;
  /** One turn at a time for each chat. */
  readonly #chats = new KeyedMutex();
  readonly #leases: TurnLeases;
  /** Running and waiting turns, by chat and id. */
  readonly #turns = new Map<string, Turn>();
  readonly #running = new Map<string, Turn>();
  readonly #listeners = new Set<(turn: Turn) => void>();
  /** What has to wait is kept in the order in which it came. */
  readonly #keeping = new KeyedMutex();
  #closing = false;

  constructor(ports: TurnPorts) {
    this.#ports = ports;
    this.#leases = new TurnLeases(ports.chats.log, (asked) => this.#stopAsked(asked));
  }

  /**
   * Takes a message. Returns at once; `turn.done` tells the rest. The same id is the same turn: one
   * that runs is joined, one that was answered answers again, one that was cut off is taken up.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_ID_CONFLICT`; `THROUGHLINE_BUSY`, the
   *   queue of this chat is full, and `THROUGHLINE_CLOSED`: nothing was stored.
   */
  submit(chatId: string, input: TurnInput): Turn {
    checkChatId(chatId);
    if (typeof input.content !== "string" || input.content.trim() === "") {
      throw invalid("content must be a string with something in it");
    }
    const isFresh = input.id === undefined;
    const id = input.id ?? this.#ports.newId();
    checkId(id, "id");
    if (Buffer.byteLength(id) > maxTurnIdBytes) throw invalid("id is longer than 200 bytes");
    const known = this.#turns.get(turnKey(chatId, id));
    if (known !== undefined) {
      if (known.content === input.content) return known;
      throw new ThroughlineError("this id is in use for another message", {
        code: "THROUGHLINE_ID_CONFLICT",
      });
    }
    this.#assertOpen();
    this.#assertRoom(chatId);
    const { provider, model } = input;
    const target = {
      provider,
      model,
    };
    const { content, synthetic } = input;
    return this.#enqueue(new Turn({ chatId, id, content, synthetic, isFresh }), target);
  }

  /** What a new period runs on. */
  get standard(): Responders["standard"] {
    return this.#ports.responders.standard;
  }

  /** The providers that the configuration allows to be asked. */
  get providers(): readonly string[] {
    const { standard, providers = [standard.provider] } = this.#ports.responders;
    return providers;
  }

  /** The turn that this process runs in this chat now. */
  running(chatId: string): Turn | undefined {
    return this.#running.get(chatId);
  }

  /** Whether any process runs a turn in this chat: what has no answer there will get one. */
  async isRunning(chatId: string): Promise<boolean> {
    if (this.#running.has(chatId)) return true;
    const { head } = await this.#ports.chats.log.state(chatId);
    // A process that was cut off leaves one of these behind; a live one also has the chat's lease.
    if (head?.open_turn === undefined && head?.pending === undefined) return false;
    return this.#leases.isElsewhere(chatId);
  }

  /** Running and waiting turns of this process, over all chats. */
  get size(): number {
    return this.#chats.size;
  }

  /**
   * Cuts the answer short that this process makes, and keeps what came so far.
   *
   * @returns whether one was running.
   */
  stop(chatId: string): boolean {
    const turn = this.#running.get(chatId);
    turn?.stop();
    return turn !== undefined;
  }

  /** The same, whichever process makes it. @returns whether one does. */
  async stopAnywhere(chatId: string): Promise<boolean> {
    return this.stop(chatId) || this.#leases.stopElsewhere(chatId);
  }

  /**
   * Stops what runs in a chat, turn after turn, in every process. Resolves when nothing runs: an answer
   * must not come back to a chat that is to be forgotten.
   */
  async end(chatId: string): Promise<void> {
    // What waits here for another process would come before the chat is forgotten.
    this.#stopAsked({ chatId, all: true });
    for (let turn = this.#running.get(chatId); turn !== undefined; ) {
      turn.stop();
      await turn.done.catch(() => undefined); // however it ended
      // The next one of the chat begins before this continues.
      await new Promise((resolve) => setImmediate(resolve));
      turn = this.#running.get(chatId);
    }
    await this.#leases.endElsewhere(chatId);
  }

  /**
   * Takes up the oldest message of a chat that has no answer: cut off by a crash, failed, or accepted
   * and never begun. It continues after the last result of a tool on record; a call without a result
   * runs again only if its tool is `repeatable`.
   *
   * @param asked what to run on, in place of what the message asked for.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: every message is answered.
   */
  async answer(chatId: string, asked: Target = {}): Promise<Turn> {
    const { provider, model, ...words } = await oldestUnanswered(this.#ports.chats, chatId, asked);
    const running = this.#turns.get(turnKey(chatId, words.id));
    if (running !== undefined) return running;
    const isNamed = asked.provider !== undefined || asked.model !== undefined;
    const own = { provider: provider || undefined, model: model || undefined };
    const target = isNamed ? own : await stillConfigured(this.#ports, chatId, own);
    return this.submit(chatId, { ...words, ...target });
  }

  /**
   * Regenerates the answer to the newest message of a chat. The old answer stays in the log and is
   * hidden once the new one is stored. If the new one has no words, the old one stays the answer.
   *
   * @param options.id makes a repeated call the same retry. At most 36 bytes.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: nothing was said, or not this.
   *   `THROUGHLINE_CONFLICT`: something is being answered, or the message has no answer: see `answer`; or
   *   what this very retry was of, or led to, was hidden, erased or cleared since.
   */
  async retry(
    chatId: string,
    options: Target & {
      readonly id?: string | undefined;
      readonly messageId?: string | undefined;
    } = {},
  ): Promise<Turn> {
    const { id = this.#ports.newId(), messageId, ...target } = options;
    checkId(id, "id");
    if (Buffer.byteLength(id) > maxRetryIdBytes) throw invalid("id is longer than 36 bytes");
    const { chats } = this.#ports;
    const { head } = await chats.log.existing(chatId);
    const before = await retriedWith(chats, chatId, id);
    const user = before ?? (await newestWords(chats, { chatId, head }));
    if (user === undefined || (messageId ?? user.id) !== user.id) {
      throw notFound(chatId, "message to answer again");
    }
    const known = this.#turns.get(turnKey(chatId, user.id));
    if (known?.retryId === id) return known;
    this.#assertOpen();
    // The answer that it led to may be stored: then it waits for nothing but its turn.
    if (before === undefined && this.#chats.isLocked(chatId)) throw isBeingAnswered();
    const { content } = user;
    return this.#enqueue(new Turn({ chatId, id: user.id, content, retryId: id }), target);
  }

  /**
   * Leaves what is unanswered in a chat unanswered, for good: nothing while another process runs a turn
   * there, which may have more that wait. What was said stays, also what waited.
   *
   * @returns how many messages that were.
   */
  async dismiss(chatId: string): Promise<number> {
    const { log } = this.#ports.chats;
    await log.existing(chatId);
    return (await log.aloneNow(chatId, () => this.#dismiss(chatId))) ?? 0;
  }

  #dismiss(chatId: string): Promise<number> {
    const isOurs = (id: string) => this.#turns.has(turnKey(chatId, id));
    return dismissTurns(this.#ports.chats, chatId, isOurs);
  }

  /**
   * Calls back for every turn when it begins to run: not for one that was answered before, of which
   * nothing happens again. @returns a function that ends it.
   */
  onTurn(listener: (turn: Turn) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Takes nothing more, gives running turns `graceMs` to end, then cuts them short and keeps what
   * came. Waiting messages stay stored and unanswered. Resolves when nothing runs any more.
   */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#leases.close();
    const stop = () => {
      for (const turn of this.#running.values()) turn.stop();
    };
    const timer = setTimeout(stop, graceMs);
    try {
      await Promise.allSettled(Array.from(this.#turns.values(), ({ done }) => done));
      await this.#chats.idle();
      await this.#leases.end();
    } finally {
      clearTimeout(timer);
    }
  }

  #enqueue(turn: Turn, target: Target): Turn {
    const key = turnKey(turn.chatId, turn.id);
    // Decided before anything is awaited: what comes later waits behind this.
    const mustWait = this.#chats.isLocked(turn.chatId);
    const kept = Promise.withResolvers<void>();
    kept.promise.catch(() => undefined); // handled when its turn comes, maybe long after
    const ran = this.#chats.run(turn.chatId, async () => {
      await kept.promise;
      this.#assertOpen();
      const keep = () => this.#keep(turn, target);
      return this.#leases.hold(turn, keep, (waited) => {
        this.#running.set(turn.chatId, turn);
        const ended = this.#ports.sessions.turnRuns(turn.chatId);
        const ran = this.#run(turn, target, mustWait || waited);
        return ran.finally(() => {
          this.#running.delete(turn.chatId);
          ended();
        });
      });
    });
    this.#turns.set(key, turn);
    const gone = () => this.#turns.get(key) === turn && this.#turns.delete(key);
    const refuse = (error: unknown) => {
      gone();
      turn.fail(error); // now: the sender does not wait for the turns before it
      kept.reject(error);
    };
    if (mustWait) this.#keep(turn, target).then(kept.resolve, refuse);
    else kept.resolve();
    ran.finally(gone).then(
      (answer) => turn.end(answer),
      (error) => turn.fail(error),
    );
    return turn;
  }

  /** Keeps a message that has to wait. One that no model here could answer is refused, and not kept. */
  #keep(turn: Turn, asked: Target): Promise<void> {
    return this.#keeping.run(turn.chatId, async () => {
      await speakerOf(this.#ports, turn.chatId, asked);
      await keepPending(this.#ports, turn, asked);
    });
  }

  async #run(turn: Turn, asked: Target, waited: boolean): Promise<TurnAnswer> {
    const isUnwanted = waited && (await this.#isUnwanted(turn));
    // While it waited, another process may have taken it up, no matter which one made its id.
    const isRepeat = !isUnwanted && (waited || !turn.isFresh);
    const again = isRepeat ? await storedAnswer(this.#ports.chats, turn) : undefined;
    if (again !== undefined) return again;
    for (const listener of this.#listeners) listener(turn);
    const parts = this.#ports.extensions.turn(turn);
    if (isUnwanted) throw notFound(turn.chatId, "message that waits");
    if (waited && turn.retryId !== undefined) throw isBeingAnswered();
    const speaker = speakerOf(this.#ports, turn.chatId, asked);
    const start = {
      type: "turn",
      chatId: turn.chatId,
      agent: this.#ports.companionName,
      // Where none can be asked the turn fails below, inside the span.
      model: await speaker.then(({ target }) => target.model).catch(() => undefined),
    } as const;
    return inSpan(this.#ports.telemetry, start, async (span) => {
      turn.span = span;
      span.add({ stage: "begin" });
      return this.#speak(turn, await speaker, parts);
    });
  }

  async #speak(
    turn: Turn,
    { target, responder, notice }: Awaited<ReturnType<typeof speakerOf>>,
    parts: TurnParts,
  ): Promise<TurnAnswer> {
    turn.assertUnfenced();
    const begun =
      turn.retryId === undefined
        ? await beginTurn(this.#ports, turn, target)
        : await beginRetry(this.#ports, { ...turn, retryId: turn.retryId }, target);
    this.#ports.sessions.announceEnd(turn.chatId, begun.resolution);
    const memory = this.#ports.memories.of(turn.chatId);
    const part = parts.begin(begun);
    turn.add({ type: "accepted", user: begun.user });
    const notices = notice === undefined ? noticesOf(begun) : [notice, ...noticesOf(begun)];
    for (const text of notices) turn.add({ type: "notice", text });
    turn.span.add({ stage: "model", freshness: begun.resolution.reason });
    const running = { ...this.#ports, responder, turn, begun, notices };
    const { answer, ended } = await this.#answer(running, parts, part);
    // A retry without a word leaves what was answered before.
    if (turn.retryId === undefined || answer.assistant !== undefined) {
      const { text: response, outcome } = ended;
      const { companionName } = this.#ports;
      const utterance = turn.content;
      const said = {
        utterance,
        intent: parseIntent(utterance, companionName).type,
        response,
        outcome,
      };
      this.#ports.memories.appendTo(turn.chatId, memory, said, turn.id);
    }
    return answer;
  }

  async #answer(
    running: Omit<RunningTurn, "part">,
    parts: TurnParts,
    begins: Promise<TurnPart>,
  ): Promise<{ readonly answer: TurnAnswer; readonly ended: Ended }> {
    const { chats, rules, clock } = this.#ports;
    const { turn, begun, notices } = running;
    const work = async () => {
      const part = await begins;
      const ended = await ask({ ...running, part });
      const { finish, outcome, usage } = ended;
      const { inputTokens: input, outputTokens: output } = usage;
      turn.span.add({ stage: "store", finish, input, output });
      turn.assertUnfenced();
      const stored = await endTurn(this.#ports, turn, begun, {
        ...ended,
        acknowledged: part.acknowledged,
      });
      turn.span.add({ stage: outcome === "answered" ? "done" : "model" });
      turn.span.end(outcome === "failed" ? "THROUGHLINE_MODEL_FAILED" : undefined);
      return { ...stored, ended };
    };
    const { assistant, period, ended } = await work().catch((error: unknown) => {
      parts.end(undefined);
      throw error;
    });
    parts.end(assistant);
    const note = ageNote(period, ended.provider, clock.now(), rules);
    if (note !== undefined) notices.push(note);
    const stored = assistant && (await chats.find(turn.chatId, assistant.id));
    const answer: TurnAnswer = {
      turnId: turn.id,
      user: begun.user,
      notices,
      usage: ended.usage,
      assistant: stored,
      period: periodView(turn.chatId, period),
      outcome: ended.outcome,
      reason: ended.reason,
      detail: ended.detail,
    };
    return { answer, ended };
  }

  /** What the next turn of a chat runs on. @throws ThroughlineError what is asked for cannot be asked. */
  async target(chatId: string, asked: Target = {}): Promise<ProviderModel> {
    const { provider, model } = (await speakerOf(this.#ports, chatId, asked)).target;
    return { provider, model };
  }

  /** A waiting turn may have been erased by now, or another process may have decided about it. */
  async #isUnwanted(turn: Turn): Promise<boolean> {
    return turn.retryId === undefined && isDismissed(this.#ports.chats, turn);
  }

  #stopAsked({ chatId, turnId, all }: StopAsked): void {
    for (const turn of this.#turns.values()) {
      if (turn.chatId !== chatId) continue;
      const isMeant = turn === this.#running.get(chatId) && (turnId ?? turn.id) === turn.id;
      if (all || isMeant) turn.stop();
    }
  }

  #assertRoom(chatId: string): void {
    const { maxQueued } = this.#ports;
    if (this.#chats.count(chatId) <= maxQueued) return;
    throw new ThroughlineError(`${maxQueued} messages wait in this chat already`, {
      code: "THROUGHLINE_BUSY",
    });
  }

  #assertOpen(): void {
    if (this.#closing) throw closed();
  }
}

const turnKey = (chatId: string, id: string) => JSON.stringify([chatId, id]);

function isBeingAnswered(): ThroughlineError {
  return new ThroughlineError("another answer is being made in this chat", {
    code: "THROUGHLINE_CONFLICT",
  });
}

function closed(): ThroughlineError {
  return new ThroughlineError("this process is ending", {
    code: "THROUGHLINE_CLOSED",
  });
}
