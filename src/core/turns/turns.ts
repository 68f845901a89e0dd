import { attachmentsOf, type GivenFile, takenFiles } from "../chat/attachments.ts";
import { checkChatId, notFound } from "../chat/chat-log.ts";
import type { StoredMessage } from "../chat/message.ts";
import type { ProviderModel, Target } from "../chat/provider-sessions.ts";
import type { Transaction } from "../chat/transaction.ts";
import { besideWords } from "../chat/waiting.ts";
import { closed, invalid, ThroughlineError, unless } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { ListOptions, ModelList, Responders } from "../models/responder.ts";
import { aName, anObject, checkArgument } from "../options.ts";
import { checkId } from "../storage/batch.ts";
import { until } from "../timers.ts";
import { modelFor, notConfigured } from "./ask.ts";
import { type NextPrompt, type NextPromptInput, nextPrompt } from "./next-prompt.ts";
import { type Opened, type OpenInput, OpenTurn } from "./open-turn.ts";
import { keepPending, retriedWith } from "./records.ts";
import { type Answerer, isBeingAnswered, run } from "./run.ts";
import { assertSame, checkTurn, checkTurnId, Turn, type Words } from "./turn.ts";
import { chooseIn, dismissTurns, newestWords, storedWords, TurnLog } from "./turn-log.ts";
import type { TurnsRuntime } from "./turns-options.ts";

export interface TurnInput extends Target {
  /** May be empty beside an attachment. */
  readonly content: string;
  /**
   * Files that are stored with the message, before it is. At most 10, and 20 MiB in all.
   * @default none
   */
  readonly attachments?: readonly GivenFile[] | undefined;
  /** Makes a repeated submit the same turn. At most 200 bytes. Made up when absent. */
  readonly id?: string | undefined;
  /** Who of a group says it, for models and people to know: 1 to 200 characters on one line. */
  readonly name?: string | undefined;
  /** Set when the application, not a person, tells this to the model: what it is, as `pat_hint`. */
  readonly synthetic?: string | undefined;
  /** The caller's own fields of the message: stored with it, and sent to no model. */
  readonly extra?: JsonObject | undefined;
}

/** A message that is to be answered, whose id may have to be made up. */
type Given = Omit<Words, "id" | "chatId"> & { readonly id?: string | undefined };

/** With the id of the turn it is the id of the answer. */
const maxRetryIdBytes = 36;

/**
 * User messages, what models do with them, and the assistant messages. One at a time per chat,
 * also where several processes write the chats; the user's words are durable before a model is asked,
 * and the answer is final once it is stored.
 */
export class Turns {
  readonly #ports: TurnsRuntime;
  /** Those that this took, each with what resolves once it has ended. */
  readonly #own = new Map<Turn, Promise<void>>();
  readonly #closing = new AbortController();
  /** What `open` waits for, of those that it took. */
  readonly #opening = new WeakMap<Turn, Promise<unknown>>();

  constructor(ports: TurnsRuntime) {
    this.#ports = ports;
  }

  /**
   * Takes a message. Returns at once; `turn.done` tells the rest. The same id is the same turn: one
   * that runs is joined, one that was answered answers again, one that was cut off is taken up.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_ID_CONFLICT`; `THROUGHLINE_TOO_LARGE`: too
   *   many attachments, or bytes; `THROUGHLINE_BUSY`, the queue of this chat is full, and
   *   `THROUGHLINE_CLOSED`: nothing was stored.
   */
  submit(chatId: string, input: TurnInput): Turn {
    checkChatId(chatId);
    checkArgument(input, "input", anObject);
    const { content, id, name, synthetic, extra, provider, model, attachments = [] } = input;
    const files = takenFiles(attachments, this.#ports.keepPhotoMetadata);
    if (typeof content !== "string" || (content.trim() === "" && files.length === 0)) {
      throw invalid("content must be a string with something in it, or come with an attachment");
    }
    const own = files.map(({ attachment }) => attachment);
    const words = { content, id, name, synthetic, extra, files, attachments: own };
    return this.#take(chatId, words, { provider, model }, false).turn;
  }

  /**
   * Begins a turn whose model the caller calls. Like `submit` it waits for its turn in the chat, stores
   * the message, and opens or continues the period. Resolves once all of that is stored; nothing is
   * asked. The same id is the same message: what runs is given as it is, and so is what has an answer;
   * what was cut off or failed is opened again.
   *
   * @param target the labels of what answers. It need not be configured here.
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_ID_CONFLICT`; `THROUGHLINE_BUSY`, the
   *   queue of this chat is full, and `THROUGHLINE_CLOSED`: nothing was stored.
   *   `THROUGHLINE_NOT_FOUND`: without `content`, there is no such message, or none without an answer.
   *   `THROUGHLINE_CONFLICT`: the message was taken back, erased, cleared or forgotten since.
   */
  async open(chatId: string, input: OpenInput, target: ProviderModel): Promise<Opened> {
    checkChatId(chatId);
    checkArgument(input, "input", anObject);
    checkArgument(target?.provider, "target.provider", aName);
    checkArgument(target?.model, "target.model", aName);
    const { provider, model } = target;
    const { chats } = this.#ports;
    const { id, content, extra, exact } = input;
    const isAlone = extra === undefined && exact === undefined;
    const isEmpty = typeof content !== "string" || (content === "" && isAlone);
    if (content !== undefined && isEmpty) {
      throw invalid("content must be a string with something in it, or come with extra or exact");
    }
    const words: Given =
      content === undefined
        ? { ...(await storedWords(chats, chatId, id)), isAgain: id !== undefined }
        : { ...input, content };
    const handed = Promise.withResolvers<OpenTurn>();
    const open = async (): Promise<Answerer> => {
      // It may be gone since it was read.
      if (words.isAgain === true) await storedWords(chats, chatId, words.id);
      const answer: Answerer["answer"] = async (prompt, end) => {
        const { turn, begun } = prompt;
        const log = begun.isNew ? undefined : await TurnLog.read(chats, turn.chatId, begun.user);
        const opened = new OpenTurn(prompt, target, end, log?.kept ?? []);
        handed.resolve(opened);
        return opened.ended;
      };
      return { target: { provider, model }, answer };
    };
    const isStored = content === undefined;
    const { known, turn } = this.#take(chatId, words, target, isStored, open);
    if (known !== undefined) return { state: "running", turn: known };
    const opening = Promise.race([handed.promise, turn.done]);
    this.#opening.set(turn, opening);
    const opened = await opening;
    if (opened instanceof OpenTurn) return { state: "open", turn: opened };
    const { user } = opened;
    const { kept: messages } = await TurnLog.read(chats, chatId, user);
    return { state: "answered", user, messages };
  }

  /** The turn of this message that `open` began, for another caller; `undefined`: none is open here. */
  async opened(chatId: string, id: string): Promise<OpenTurn | undefined> {
    const turn = this.#ports.queue.find(chatId, id);
    const open = turn && (await this.#opening.get(turn));
    return open instanceof OpenTurn ? open : undefined;
  }

  /**
   * Queues the turn of a message, or joins the one that runs or waits: `known`.
   *
   * @param isStored its message is stored already, as it is.
   * @throws ThroughlineError `THROUGHLINE_ID_CONFLICT`, and what `checkTurn` throws.
   */
  #take(
    chatId: string,
    words: Given,
    asked: Target,
    isStored: boolean,
    choose?: () => Promise<Answerer>,
  ) {
    const { id = this.#ports.newId() } = words;
    const turn = new Turn({ ...words, chatId, id, isFresh: words.id === undefined });
    if (isStored) checkTurnId(id);
    else checkTurn(turn);
    const known = this.#ports.queue.find(chatId, id);
    if (known !== undefined) assertSame(turn, known);
    return { known, turn: known ?? this.#enqueue(turn, asked, choose) };
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

  /**
   * The models that can be chosen, by provider: `provider` and `model` of a message name one.
   *
   * @param options.again asks the providers also where their lists are kept.
   * @param options.ollama looks for an Ollama on this machine, if no model was named at the start.
   */
  async models(options: ListOptions = {}): Promise<ModelList> {
    const { responders } = this.#ports;
    const { provider, model } = responders.standard;
    const only = { standard: { provider, model }, providers: [{ provider, models: [{ model }] }] };
    return (await responders.list?.(options)) ?? only;
  }

  /** The turn that this process runs in this chat now, whichever `Turns` took it. */
  running(chatId: string): Turn | undefined {
    return this.#ports.queue.running.get(chatId);
  }

  /** Whether any process runs a turn in this chat: what has no answer there will get one. */
  async isRunning(chatId: string): Promise<boolean> {
    const { chats, queue } = this.#ports;
    if (queue.running.has(chatId)) return true;
    const { head } = await chats.state(chatId);
    // A process that was cut off leaves one of these behind; a live one also has the chat's lease.
    if (head?.open_turn === undefined && head?.pending === undefined) return false;
    return queue.isElsewhere(chatId);
  }

  /** Running and waiting turns of this process, over all chats. */
  get size(): number {
    return this.#ports.queue.size;
  }

  /**
   * Cuts the answer short that this process makes, and keeps what came so far.
   *
   * @param turnId the turn that is meant: nothing happens where another one runs by now.
   * @returns whether it was running.
   */
  stop(chatId: string, turnId?: string): boolean {
    const turn = this.running(chatId);
    const isMeant = turn !== undefined && (turnId ?? turn.id) === turn.id;
    if (isMeant) turn.stop();
    return isMeant;
  }

  /** The same, whichever process makes it. @returns whether one does. */
  async stopAnywhere(chatId: string, turnId?: string): Promise<boolean> {
    const { chats, queue } = this.#ports;
    if (this.stop(chatId, turnId)) return true;
    const { head } = await chats.state(chatId);
    const turn = head?.open_turn?.id;
    if (head === undefined || (turnId ?? turn) !== turn) return false;
    if (!(await queue.isElsewhere(chatId))) return false;
    chats.cluster.publish({ about: "stop", chat: chatId, turn });
    return true;
  }

  /**
   * Stops what runs in a chat, turn after turn, in every process. Resolves when nothing runs: an answer
   * must not come back to a chat that is to be forgotten.
   */
  async end(chatId: string): Promise<void> {
    const { chats, queue } = this.#ports;
    const stop = { about: "stop", chat: chatId, all: true };
    // What waits here for another process would come before the chat is forgotten.
    queue.obey(stop);
    for (let turn = this.running(chatId); turn !== undefined; turn = this.running(chatId)) {
      turn.stop();
      await turn.done.catch(() => undefined); // however it ended
      // The next one of the chat begins before this continues.
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (!(await queue.isElsewhere(chatId))) return;
    chats.cluster.publish(stop);
    await (await chats.lease(chatId, this.#closing.signal)).release();
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
    const { own, ...words } = await storedWords(this.#ports.chats, chatId, undefined);
    const running = this.#ports.queue.find(chatId, words.id);
    if (running !== undefined) return running;
    const provider = asked.provider || undefined;
    const model = asked.model || undefined;
    const isNamed = (provider ?? model) !== undefined;
    const ownTarget = async () =>
      modelFor(this.#ports, chatId, own).then(() => own, unless(...notConfigured));
    const target = isNamed ? { provider, model } : ((await ownTarget()) ?? {});
    return this.#take(chatId, words, target, true).turn;
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
    const { chats, queue } = this.#ports;
    const { head } = await chats.existing(chatId);
    const before = await retriedWith(chats, chatId, id);
    const user = before ?? (await newestWords(chats, { chatId, head }));
    if (user === undefined || (messageId ?? user.id) !== user.id) {
      throw notFound(chatId, "message to answer again");
    }
    const known = queue.find(chatId, user.id);
    if (known?.retryId === id) return known;
    this.#closing.signal.throwIfAborted();
    // The answer that it led to may be stored: then it waits for nothing but its turn.
    if (before === undefined && queue.count(chatId) > 0) throw isBeingAnswered();
    const { content } = user;
    const words = { content, ...besideWords(user), attachments: attachmentsOf(user) };
    const turn = new Turn({ chatId, id: user.id, ...words, retryId: id });
    return this.#enqueue(turn, target);
  }

  /**
   * Shows another answer to the newest message of a chat, with the tool calls and results that led to it, and
   * hides the one that was shown. When this resolves, pages, exports, forks and the next prompt have the
   * chosen one, and providers get the history again in place of a session of their own. Choosing what is
   * shown changes nothing.
   *
   * @param answerId a message of `variants`: the first answer, or that of a `retry`.
   * @returns the answer, with all `variants` if there are others.
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no such answer. `THROUGHLINE_CONFLICT`: more
   *   was said since, something is being answered or has no answer yet, or this answer was taken
   *   back, erased or cleared.
   */
  async choose(chatId: string, answerId: string): Promise<StoredMessage> {
    const { chats, workingMemory, queue } = this.#ports;
    await chats.existing(chatId);
    if (queue.count(chatId) > 0) throw isBeingAnswered();
    const choose = (transaction: Transaction) => chooseIn(chats, transaction, answerId);
    const chosen = await chats.aloneNow(chatId, () => chats.changeExisting(chatId, choose));
    if (chosen === undefined) throw isBeingAnswered();
    const { turn = "", content, partial } = chosen;
    const outcome = partial === true ? "interrupted" : "answered";
    workingMemory.peek(chatId)?.replace(turn, { response: content, outcome });
    // What other processes remember may be another answer.
    chats.cluster.publish({ about: "drop", chat: chatId });
    return chosen;
  }

  /**
   * Leaves what is unanswered in a chat unanswered, for good: nothing while another process runs a turn
   * there, which may have more that wait. What was said stays, also what waited.
   *
   * @returns how many messages that were.
   */
  async dismiss(chatId: string): Promise<number> {
    const { chats, queue } = this.#ports;
    await chats.existing(chatId);
    const isOurs = (id: string) => queue.find(chatId, id) !== undefined;
    const dismiss = (transaction: Transaction) => dismissTurns(chats, transaction, isOurs);
    return (await chats.aloneNow(chatId, () => chats.change(chatId, dismiss))) ?? 0;
  }

  /**
   * Calls back for every turn when it begins to run: not for one that was answered before, of which
   * nothing happens again. @returns a function that ends it.
   */
  onTurn(listener: (turn: Turn) => void): () => void {
    return this.#ports.queue.onTurn(listener);
  }

  /**
   * Takes nothing more, gives the running turns of this `Turns` `graceMs` to end, then cuts them short and
   * keeps what came. Waiting messages stay stored and unanswered. Resolves when none of them runs any
   * more. A turn of `open` has 5 s more to be closed; after that it has failed.
   */
  async close(graceMs: number): Promise<void> {
    this.#closing.abort(closed("this process is ending"));
    await until(Promise.all(this.#own.values()), { ms: graceMs });
    for (const turn of this.#own.keys()) if (this.running(turn.chatId) === turn) turn.stop();
    while (this.#own.size > 0) await Promise.all(this.#own.values());
  }

  /** @param choose finds what answers. By default a model that is configured here. */
  #enqueue(
    turn: Turn,
    asked: Target,
    choose: () => Promise<Answerer> = () => modelFor(this.#ports, turn.chatId, asked),
  ): Turn {
    this.#closing.signal.throwIfAborted();
    const { maxQueued, queue } = this.#ports;
    // A new retry was refused if anything waits. A repeated one only tells its answer again.
    if (turn.retryId === undefined && queue.count(turn.chatId) > maxQueued) {
      throw new ThroughlineError(`${maxQueued} messages wait in this chat already`, {
        code: "THROUGHLINE_BUSY",
      });
    }
    const ended = queue.add(turn, {
      closing: this.#closing.signal,
      // One that nothing here could answer is refused, and not kept.
      keep: async () => {
        await choose();
        await keepPending(this.#ports, turn, asked);
        turn.files = [];
        turn.isFresh = false;
      },
      run: (waited) => run(this.#ports, turn, choose, waited),
    });
    this.#own.set(turn, ended);
    void ended.then(() => this.#own.delete(turn));
    return turn;
  }

  /** What the next turn of a chat runs on. @throws ThroughlineError what is asked for cannot be asked. */
  async target(chatId: string, asked: Target = {}): Promise<ProviderModel> {
    const { provider, model } = (await modelFor(this.#ports, chatId, asked)).target;
    return { provider, model };
  }

  /**
   * What a model would get with the next message of a chat, made by the functions that ask it. Nothing is
   * stored or changed, and no model is asked; the chat may not exist yet. What happens before the message
   * is sent changes the prompt, and so does what its words do to extensions, such as to a mood.
   *
   * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_CONFIGURATION`: what is asked for cannot
   *   be asked here.
   */
  async nextPrompt(chatId: string, input: NextPromptInput = {}): Promise<NextPrompt> {
    checkChatId(chatId);
    return nextPrompt(this.#ports, chatId, input);
  }
}
