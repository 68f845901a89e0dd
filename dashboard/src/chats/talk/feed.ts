// One chat as the page follows it. It outlives the view: an answer also arrives while another is open.
import {
  chatPath,
  newKey,
  open,
  ProblemError,
  queryClient,
  request,
  unreached,
} from "../../api/client.ts";
import { inSight, onServerEvent } from "../../api/events.ts";
import type { ServerEvents } from "../../api/openapi-types.ts";
import { Store } from "../../api/store.ts";
import { modelToAsk } from "../models/choice.ts";
import { draftsOf, ifSame, joined, saveDrafts } from "./drafts.ts";
import {
  emptyFeed,
  type FeedState,
  isRegenerated,
  isShown,
  type Waiting,
  withNewest,
  withoutAnswer,
  withoutStored,
} from "./feed-state.ts";
import { bodyOf, type DraftFile } from "./files/draft-files.ts";
import { PacedText } from "./paced-text.ts";
import { EventsWhileReading, readPage } from "./read-page.ts";
import { afterMessage, afterTurnEvent, nothingSaid } from "./turn-state.ts";
import { settled, type TurnEvent, turnEvents } from "./turn-stream.ts";

const asStream = { accept: "text/event-stream" };
/** How long after a stream broke off the chat is read again. */
const againMs = 1_000;

export class Feed {
  readonly chatId: string;
  readonly #edits: Map<string, string>;
  readonly store: Store<FeedState>;
  readonly #ends: (() => void)[];
  readonly #eventsWhileReading = new EventsWhileReading();
  /** The newest message that was posted: resolves when the server answers. */
  #posted: Promise<unknown> = Promise.resolve();
  /** What cancels a message that is being sent, by its key. */
  readonly #posts = new Map<string, AbortController>();
  /** The message that was moved to the draft last: the server may have it. */
  #returned: Waiting | undefined;
  #isFollowing = false;
  /** The questions which turn runs. */
  #asked: Promise<unknown> = Promise.resolve();
  /** How often the chat was read, and which of these readings is shown: a slow one may be older than that. */
  #begunReads = 0;
  #shownRead = 0;
  /** The turn that the last event named. */
  #newestTurn: string | undefined;
  /** Whether the chat has, or had, messages. */
  #isBegun: boolean;
  readonly #words = { text: this.#paced("text"), reasoning: this.#paced("reasoning") };

  constructor(chatId: string) {
    this.chatId = chatId;
    const known = draftsOf(chatId);
    const { draft = "", files = [], model, waiting = [], edits, isBegun = false } = known ?? {};
    this.#edits = new Map(edits);
    this.#isBegun = isBegun;
    this.store = new Store({ ...emptyFeed, draft, files, model, waiting });
    this.#ends = [
      onServerEvent("message", (data) => this.#onMessage(data)),
      onServerEvent("turn", (data) => this.#onTurn(data)),
      onServerEvent("session", (data) => this.#onSession(data)),
    ];
    void this.load();
  }

  get state(): FeedState {
    return this.store.get();
  }

  /** What was typed and not sent. */
  get draft(): string {
    return this.state.draft;
  }

  /** Keeps what is typed, attached and chosen for the next message. */
  keep(change: Partial<Pick<FeedState, "draft" | "files" | "model">>): void {
    this.#set(change);
  }

  /** Edits of messages that were not sent, by the ids of the messages. */
  get edits(): ReadonlyMap<string, string> {
    return this.#edits;
  }

  /** Keeps the edit of a message; `undefined` removes it. */
  edit(messageId: string, content: string | undefined): void {
    if (content !== undefined) this.#edits.set(messageId, content);
    else if (!this.#edits.delete(messageId)) return;
    this.#keep();
  }

  /** Whether something would be lost without it: a turn, a draft, a message on its way. */
  get isBusy(): boolean {
    const isTyped = this.draft !== "" || this.state.files.length > 0 || this.#edits.size > 0;
    const isFollowed = this.#isFollowing || this.store.isFollowed;
    return isTyped || isFollowed || this.state.waiting.length > 0;
  }

  end(): void {
    for (const end of this.#ends) end();
  }

  /** Reads the newest page, and follows the running turn. Called again after a break. @param held as below. */
  async load(held?: readonly Waiting[]): Promise<void> {
    if (this.state.status === "failed") this.#set({ status: "loading" });
    try {
      const known = this.state.messages;
      const wasBegun = this.#isBegun;
      const read = ++this.#begunReads;
      const page = await this.#eventsWhileReading.during(() => readPage(this.chatId));
      if (read < this.#shownRead) return;
      this.#shownRead = read;
      if (page.isMissing && wasBegun) this.#forgetWords();
      this.#isBegun ||= !page.isMissing;
      for (const { id, redacted } of page.messages) if (redacted) this.edit(id, undefined);
      const waiting = withoutStored(this.state.waiting, page.messages);
      this.#set({ status: "ready", waiting, ...withNewest(this.state, page, known) });
      for (const event of page.events) this.#show(event);
      await this.followRunning(held);
    } catch (error) {
      if (this.state.status !== "ready") this.#set({ status: "failed", error });
    }
  }

  /** Reads the page before the oldest that is here. */
  async loadOlder(limit?: number): Promise<void> {
    const { before, older, status } = this.state;
    if (before === undefined || older === "loading" || status !== "ready") return;
    this.#set({ older: "loading" });
    try {
      const page = await readPage(this.chatId, before, limit);
      // Cleared since: this page belongs nowhere.
      if (this.state.before !== before) return this.#set({ older: "idle" });
      const messages = [...page.messages, ...this.state.messages];
      this.#set({ messages, before: page.before, older: "idle" });
    } catch {
      this.#set({ older: "failed" }); // the view offers another try
    }
  }

  /** Sends a message: under its first key if it was moved to the draft and not changed there. */
  send(content: string, files: readonly DraftFile[] = []): Promise<void> {
    const key = ifSame(this.#returned, { content, files })?.key ?? newKey();
    this.#returned = undefined;
    return this.#submit({ key, content, files, state: "sending" });
  }

  /** Sends again what failed: the same message, so it is never said twice. */
  resend(key: string): Promise<void> {
    const entry = this.state.waiting.find((each) => each.key === key);
    if (entry === undefined) return Promise.resolve();
    const { content, files } = entry;
    return this.#submit({ key, content, files, state: "sending" });
  }

  /** Puts what failed, or takes too long, into the draft, before its text and files. @returns the draft. */
  toDraft(key: string): string {
    this.#posts.get(key)?.abort();
    void this.load(); // the server may have it
    const { waiting } = this.state;
    this.#returned = waiting.find((each) => each.key === key);
    const { content = "", files = [] } = this.#returned ?? {};
    const draft = joined(content, this.draft);
    const rest = waiting.filter((each) => each.key !== key);
    this.#set({ waiting: rest, draft, files: [...files, ...this.state.files] });
    return draft;
  }

  stop(): void {
    const { live } = this.state;
    if (live === undefined) return;
    this.#set({ live: { ...live, isStopping: true } });
    const body = { turn_id: live.turnId || undefined };
    request(this.#path("stop"), { method: "POST", body }).catch((error: unknown) => {
      if (this.state.live) this.#set({ live: { ...this.state.live, isStopping: false } });
      this.#set({ trouble: { error } });
    });
  }

  /** Answers the oldest message that has no answer. */
  answer(): Promise<void> {
    return this.#run("answer", () => void this.answer());
  }

  /** Regenerates the newest answer. The one before is kept, and hidden from now on. */
  async regenerate(key: string = newKey()): Promise<void> {
    const { messages } = this.state;
    const answered = messages.findLast(isShown);
    if (this.#isFollowing || answered === undefined) return;
    if (answered.role === "assistant") this.#set({ messages: withoutAnswer(messages, answered) });
    await this.#run("retry", () => void this.regenerate(key), { "idempotency-key": key });
    // If it failed, the answer before is back.
    await this.load();
  }

  /** Shows another answer to the newest message, here and everywhere. */
  async choose(answerId: string): Promise<void> {
    const path = `messages/${encodeURIComponent(answerId)}/choose`;
    await this.#post(path, () => void this.choose(answerId));
    // Also after a failure: more may have been said elsewhere.
    await this.load();
  }

  /** Dismisses the messages that have no answer. */
  async dismiss(): Promise<void> {
    await this.#post("dismiss", () => void this.dismiss());
    this.#refreshChat();
  }

  /**
   * Follows the running turn from its start, if there is one, then the next.
   *
   * @param held the messages that waited when no turn ran a moment ago, and are not stored: they are lost.
   */
  async followRunning(held: readonly Waiting[] = []): Promise<void> {
    const waiting = this.state.waiting.filter(({ state }) => state === "waiting");
    // A browser has six connections to a server: they are for the pages in sight.
    if (this.#isFollowing || !(inSight.get() || waiting.length > 0)) return;
    const asked = open(this.#path("turn"));
    this.#asked = Promise.allSettled([this.#asked, asked]).then(() => undefined); // keeps no response
    const response = await asked;
    // Something else was asked for since then, and is followed.
    if (this.#isFollowing) return response.body?.cancel();
    if (response.status !== 200) {
      this.#set({ live: undefined });
      const lost = waiting.filter((each) => held.includes(each));
      for (const { key } of lost) this.#change(key, { state: "lost" });
      // Between two turns none runs either: the chat is read again.
      if (lost.length < waiting.length) setTimeout(() => void this.load(waiting), againMs);
      return;
    }
    this.#isFollowing = true;
    try {
      await this.#follow(response);
    } finally {
      this.#isFollowing = false;
    }
    await this.#next();
  }

  /** Shows what went wrong. */
  fail(error: unknown): void {
    this.#set({ trouble: { error } });
  }

  clearTrouble(): void {
    this.#set({ trouble: undefined, notices: [] });
  }

  async #submit(entry: Waiting): Promise<void> {
    const rest = this.state.waiting.filter(({ key }) => key !== entry.key);
    this.#set({ waiting: [...rest, entry], trouble: undefined });
    const controller = new AbortController();
    this.#posts.set(entry.key, controller);
    await this.#asked; // it may be behind another turn
    const isBehind = this.#isFollowing;
    this.#isFollowing = true;
    try {
      // One after the other: files that take long to send are not overtaken by what was said after them.
      const body = bodyOf(entry, modelToAsk(this.chatId, this.state.model));
      const headers = { ...asStream, "idempotency-key": entry.key };
      const init = { method: "POST", body, headers, signal: controller.signal } as const;
      const posted = this.#posted.then(() => open(this.#path("messages"), init));
      this.#posted = posted.catch(() => undefined);
      const response = await posted;
      if (isBehind) {
        this.#change(entry.key, { state: "waiting" });
        await settled(response, controller);
      } else {
        const ended = await this.#follow(response);
        // Refused, or disconnected, before it was stored.
        this.#change(entry.key, { state: "failed", error: ended ?? unreached() });
      }
    } catch (error) {
      this.#change(entry.key, { state: "failed", error });
    } finally {
      this.#posts.delete(entry.key);
      if (!isBehind) this.#isFollowing = false;
    }
    if (!isBehind) await this.#next();
  }

  async #post(path: string, retry: () => void): Promise<void> {
    this.#set({ trouble: undefined });
    try {
      await request(this.#path(path), { method: "POST" });
    } catch (error) {
      this.#set({ trouble: { error, retry } });
    }
  }

  async #run(
    action: "answer" | "retry",
    retry: () => void,
    headers: Record<string, string> = {},
  ): Promise<void> {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.#set({ trouble: undefined, live: { turnId: "", ...nothingSaid, isStopping: false } });
    try {
      const sent = { body: this.state.model, headers: { ...asStream, ...headers } };
      await this.#follow(await open(this.#path(action), { method: "POST", ...sent }));
    } catch (error) {
      this.#set({ live: undefined, trouble: { error, retry } });
    } finally {
      this.#isFollowing = false;
    }
    await this.#next();
  }

  /** Follows the next turn, which may run already. */
  async #next(): Promise<void> {
    this.#refreshChat();
    const isNew =
      this.#newestTurn !== undefined && this.#newestTurn !== this.state.followed?.turnId;
    if (isNew || this.state.waiting.some(({ state }) => state === "waiting")) {
      await this.followRunning().catch(() => undefined); // the page shows that the server is away
    }
  }

  /** Shows one turn to its end. @returns what it failed with. */
  async #follow(response: Response): Promise<ProblemError | undefined> {
    let isWhole = false;
    let failure: ProblemError | undefined;
    let isUnanswered = false;
    try {
      for await (const event of turnEvents(response)) {
        this.#on(event);
        isWhole ||= event.name === "result" || event.name === "error";
        if (event.name === "error") failure = new ProblemError(event.data);
        isUnanswered = event.name === "result" && event.data.assistant === null;
      }
    } catch {
      isWhole = false; // disconnected: as below
    }
    for (const paced of Object.values(this.#words)) paced.flush();
    this.#refreshChat();
    if (isWhole) this.#set({ live: undefined });
    else this.#breakOff();
    // A failed retry leaves nothing behind: the chat is read again.
    if (failure !== undefined || isUnanswered) void this.load();
    return failure;
  }

  /** The turn may still run, or have ended: reading the chat tells. Without a server, reconnecting asks again. */
  #breakOff(): void {
    const { live } = this.state;
    if (live !== undefined) this.#set({ live: { ...live, isBroken: true } });
    setTimeout(() => void this.load(), againMs);
  }

  #on(event: TurnEvent): void {
    const isSaid = event.name === "message" && event.data.message.role === "assistant";
    for (const paced of Object.values(this.#words)) {
      if (event.name === "accepted" || isSaid) paced.drop();
      if (event.name === "retrying") paced.flush(); // later text means that the wait is over
    }
    if (event.name === "text" || event.name === "reasoning") {
      this.#words[event.name].add(event.data.text);
    } else this.#set(afterTurnEvent(this.state, event));
  }

  #onMessage(event: ServerEvents["message"]): void {
    if (event.chat_id !== this.chatId) return;
    this.#eventsWhileReading.add(event);
    this.#show(event);
    // Which answers there are, and which one is shown, the chat says.
    const isOther =
      event.change === "stored" ? isRegenerated(event.message) : event.change === "chosen";
    if (isOther) void this.load();
  }

  #show(event: ServerEvents["message"]): void {
    if (event.change !== "stored" && event.change !== "chosen") {
      this.edit(event.message_id, undefined);
    }
    if (this.state.status !== "ready") return;
    if (event.change === "stored") this.#isBegun = true;
    else this.#refreshChat();
    this.#set(afterMessage(this.state, event));
  }

  #onTurn(event: ServerEvents["turn"]): void {
    if (event.chat_id !== this.chatId) return;
    this.#refreshChat();
    if (event.state !== "running") return;
    this.#newestTurn = event.turn_id;
    void this.followRunning().catch(() => undefined); // as in #next
  }

  #onSession(event: ServerEvents["session"]): void {
    // It may be a branch of this chat, or what this one is a branch of.
    const isLink = event.change === "forked" || event.change === "forgotten";
    if (event.chat_id === this.chatId || isLink) this.#refreshChat();
    if (event.chat_id !== this.chatId) return;
    if (event.change !== "cleared" && event.change !== "forgotten") return;
    this.#edits.clear();
    this.#set({ messages: [], before: undefined, notices: [], trouble: undefined });
    this.#keep();
    if (event.change === "forgotten") this.#forgetWords();
    void this.load();
  }

  /** The chat was forgotten: its drafts go too. What is being sent begins it again, or is shown as unsent. */
  #forgetWords(): void {
    this.#isBegun = false;
    this.#edits.clear();
    const waiting = this.state.waiting.filter(({ state }) => state === "sending");
    this.#set({ draft: "", files: [], model: undefined, waiting });
    this.#keep();
  }

  #paced(name: "text" | "reasoning"): PacedText {
    return new PacedText((text) => this.#set(afterTurnEvent(this.state, { name, data: { text } })));
  }

  #change(key: string, change: Partial<Waiting>): void {
    const { waiting } = this.state;
    this.#set({
      waiting: waiting.map((each) => (each.key === key ? { ...each, ...change } : each)),
    });
  }

  #refreshChat(): void {
    void queryClient.invalidateQueries({ queryKey: ["chat", this.chatId] });
  }

  #path(rest: string): string {
    return `${chatPath(this.chatId)}/${rest}`;
  }

  #keep(): void {
    const { draft, files, model, waiting } = this.state;
    const [edits, isBegun] = [[...this.#edits], this.#isBegun];
    saveDrafts(this.chatId, { draft, files, model, waiting, edits, isBegun });
  }

  #set(change: Partial<FeedState>): void {
    const before = this.state;
    const next = { ...before, ...change };
    this.store.set(next);
    const kept = ["draft", "files", "model", "waiting"] as const;
    if (kept.some((name) => next[name] !== before[name])) this.#keep();
  }
}
