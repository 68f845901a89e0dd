// The turn of the run that a session is used in: opened before its first model call, closed with what the run adds.
import { notFound } from "../../core/chat/chat-log.ts";
import type { MessageInput } from "../../core/chat/message-input.ts";
import { conflict, isThroughlineError, unless } from "../../core/errors.ts";
import { unknownUsage } from "../../core/models/prices.ts";
import { KeyedMutex } from "../../core/mutex.ts";
import type { Throughline } from "../../core/throughline.ts";
import type { OpenInput, OpenTurn } from "../../core/turns/open-turn.ts";
import type { Turns } from "../../core/turns/turns.ts";
import { asStored, keyOf, newItems } from "./item-keys.ts";
import type { ItemLog } from "./item-log.ts";
import { agentsDialect, type Item } from "./items.ts";

/** What is read of the agent of a model call. */
export interface AgentOfRun {
  readonly model?: unknown;
}

/** What the sessions of one `Throughline` share. */
interface Shared {
  readonly turns: Promise<Turns>;
  /** By chat: the turn that a run of this process opened. */
  readonly open: Map<string, OpenTurn>;
  /** One is opened at a time in each chat: the next one ends it. */
  readonly opening: KeyedMutex;
}

const shared = new WeakMap<Throughline, Shared>();

export class RunTurn {
  readonly #throughline: Throughline;
  readonly #chatId: string;
  readonly #log: ItemLog;
  #turn: OpenTurn | undefined;
  /** The keys of what `beforeModel` stored and the run has not added yet. */
  #ahead: string[] = [];
  /** The history was read since the last model call, as a run does first. */
  #isBegun = false;

  constructor(throughline: Throughline, chatId: string, log: ItemLog) {
    this.#throughline = throughline;
    this.#chatId = chatId;
    this.#log = log;
  }

  get isOpen(): boolean {
    return this.#turn !== undefined;
  }

  /** The history is read. */
  runBegins(): void {
    this.#isBegun = true;
  }

  /** Stores what of a model's input is not stored yet. */
  async beforeModel(input: readonly Item[], agent: AgentOfRun): Promise<void> {
    const stored = (await this.#log.all(true)).flatMap(({ items }) => items);
    const fresh = newItems(stored, input).map(asStored);
    const isFirst = this.#isBegun || this.#turn === undefined;
    this.#isBegun = false;
    // Later in a run only models and tools say something new; else it is history in another form.
    const items = isFirst ? fresh : fresh.filter(isOutput);
    if (items.length === 0 && this.#turn !== undefined) return;
    const first = items.findIndex(({ role }) => role === "user");
    if (first >= 0) await this.#openWith(items, first, agent);
    else {
      if (this.#turn === undefined) await this.#reopen(agent);
      await this.#keep(items);
    }
  }

  /** What of these items is not stored yet. */
  unstored(items: readonly Item[]): readonly Item[] {
    const ahead = [...this.#ahead];
    return items.filter((item) => {
      const at = ahead.indexOf(keyOf(item));
      if (at >= 0) ahead.splice(at, 1);
      return at < 0;
    });
  }

  /** Stores what a run adds, and ends its turn if that is more than what was said to it. */
  async add(items: readonly Item[]): Promise<void> {
    const rest = this.unstored(items);
    const turn = this.#turn;
    if (turn === undefined) await this.#log.append(rest);
    else {
      const isOver = items.some(isOutput);
      const last = rest.findLastIndex((item) => !isOutput(item)) + 1;
      await this.#keep(isOver ? rest.slice(0, last) : rest);
      if (isOver) await this.#close(turn, rest.slice(last));
    }
    for (const item of items) this.forget(item);
  }

  /** These were stored in another way, as part of a larger change. */
  async added(items: readonly Item[]): Promise<void> {
    if (items.some(isOutput)) await this.close();
    for (const item of items) this.forget(item);
  }

  /** Ends the turn: everything of it is stored. */
  async close(): Promise<void> {
    if (this.#turn !== undefined) await this.#close(this.#turn, []);
    this.#ahead = [];
  }

  /** What the run adds of this is to be stored. */
  forget(item: Item): void {
    const at = this.#ahead.indexOf(keyOf(item));
    if (at >= 0) this.#ahead.splice(at, 1);
  }

  /** Ends the turn that a run of this process left open in the chat, without an answer. */
  async end(): Promise<void> {
    const { open } = this.#shared();
    await open.get(this.#chatId)?.fail();
    open.delete(this.#chatId);
    this.#turn = undefined;
    this.#ahead = [];
  }

  async dismiss(): Promise<void> {
    await this.end();
    const turns = await this.#shared().turns;
    // What was never begun has nothing to dismiss.
    await turns.dismiss(this.#chatId).catch(unless("THROUGHLINE_NOT_FOUND"));
  }

  /** A new turn, with the first thing that a person says in it. */
  async #openWith(items: readonly Item[], first: number, agent: AgentOfRun): Promise<void> {
    const before = items.slice(0, first);
    const [input] = await this.#log.inputs(items.slice(first, first + 1));
    await this.#open(agent, async () => {
      if (before.length > 0) await this.#log.append(before);
      return input as MessageInput & OpenInput;
    });
    this.#ahead = items.slice(0, first + 1).map(keyOf);
    await this.#keep(items.slice(first + 1));
  }

  /** The turn of what was said last is taken up again: by a run that was interrupted, or began with no words. */
  async #reopen(agent: AgentOfRun): Promise<void> {
    await this.#open(agent, async () => {
      const entries = await this.#log.all(true);
      const user = entries.findLast(({ message }) => message.role === "user")?.message;
      return user && { id: user.id };
    });
  }

  async #open({ model }: AgentOfRun, inputOf: () => Promise<OpenInput | undefined>): Promise<void> {
    const { turns, open, opening } = this.#shared();
    const target = {
      provider: agentsDialect.framework,
      model: typeof model === "string" && model !== "" ? model : "default",
    };
    await opening.run(this.#chatId, async () => {
      await this.end();
      const input = await inputOf();
      if (input === undefined) return;
      const { id, content, exact, attachments } = input;
      const words = { id, content, exact, attachments };
      const opened = await (await turns).open(this.#chatId, words, target);
      // Another program took up the very message.
      if (opened.state !== "open") throw conflict("this chat is being answered");
      const { turn } = opened;
      this.#turn = turn;
      open.set(this.#chatId, turn);
      // What stops it waits until it has ended; what the run adds then is stored all the same.
      const stop = () => void turn.fail();
      if (turn.signal.aborted) stop();
      else turn.signal.addEventListener("abort", stop, { once: true });
    });
  }

  /** Stores items of the turn, in order; without one, of the chat. */
  async #keep(items: readonly Item[]): Promise<void> {
    const turn = this.#turn;
    for (let at = 0; at < items.length; ) {
      const next = items.findIndex(
        (item, index) => index > at && isOutput(item) !== isOutput(items[at] as Item),
      );
      const some = items.slice(at, next < 0 ? items.length : next);
      const isTurns = turn !== undefined && isOutput(items[at] as Item);
      if (isTurns) await this.#inTurn(turn, some, (messages) => turn.keep(messages));
      else await this.#log.append(some, turn?.user.id);
      this.#ahead.push(...some.map(keyOf));
      at += some.length;
    }
  }

  async #close(turn: OpenTurn, items: readonly Item[]): Promise<void> {
    const outcome = "answered";
    await this.#inTurn(turn, items, (messages) => {
      // The SDK does not tell its session what a run took.
      return turn.close({ messages, usage: unknownUsage, outcome });
    });
    const { open } = this.#shared();
    if (open.get(this.#chatId) === turn) open.delete(this.#chatId);
    this.#turn = undefined;
  }

  /**
   * A turn may have ended without its run, or it is not known whether this was stored: what the run did is stored
   * all the same, once, but not in a chat that was forgotten.
   */
  async #inTurn(
    turn: OpenTurn,
    items: readonly Item[],
    store: (messages: readonly MessageInput[]) => Promise<unknown>,
  ): Promise<void> {
    const { chats } = this.#throughline;
    const { id } = turn.user;
    try {
      const inputs = await this.#log.inputs(items, undefined, id);
      await store(inputs).catch(async (error) => {
        unless("THROUGHLINE_CONFLICT", "THROUGHLINE_OUTCOME_UNKNOWN")(error);
        await chats.changeExisting(this.#chatId, async (transaction) => {
          // It may have begun again, without what was said before.
          const user = await chats.logs.find(this.#chatId, id);
          if (user === undefined) throw notFound(this.#chatId, "message");
          for (const input of inputs) await chats.appendTo(transaction, { ...input, turn: id });
        });
      });
    } catch (error) {
      if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) await this.end();
      throw error;
    }
  }

  #shared(): Shared {
    let found = shared.get(this.#throughline);
    found ??= { turns: this.#throughline.turns(), open: new Map(), opening: new KeyedMutex() };
    shared.set(this.#throughline, found);
    return found;
  }
}

/** Whether a model or a tool made it. */
function isOutput({ type = "message", role }: Item): boolean {
  return type !== "message" || role === "assistant";
}
