import { absent, conflict, invalid } from "../core/errors.ts";
import { checkArgument, having } from "../core/options.ts";
import { type ClientRun, type ClientStep, clientLimits } from "./client-runs.ts";
import { type InjectionStream, injectInto } from "./conversation/injector.ts";
import { gapBetween, readClock } from "./gap.ts";
import type { KeptLife } from "./kept-life.ts";
import type { RestartKind } from "./restart.ts";
import type { RestartNotices } from "./restart-notices.ts";

/** The most chats that are named. */
const maxNamed = 1_000;

/** What a model of somebody's own is to hear of a restart, as one text. */
export interface RestartText {
  /** As it is now: it may have been long since the run began. */
  readonly kind: RestartKind;
  readonly status: "pending" | "delivered";
  /** The facts to remember, then the restart notice. "": there is nothing to say, or it was said. */
  readonly text: string;
}

/**
 * The runs of programs that are not this one and have a model of their own, such as a robot. A run is open
 * until its client ends it or begins another one; it survives this process.
 */
export class Clients {
  readonly #kept: KeptLife;
  readonly #notices: RestartNotices;
  readonly #facts: () => Promise<string>;

  constructor(kept: KeptLife, notices: RestartNotices, facts: () => Promise<string>) {
    this.#kept = kept;
    this.#notices = notices;
    this.#facts = facts;
  }

  /** Begins a run. One of this name that is open has crashed. */
  begin(client: string): Promise<ClientRun> {
    const { name, clients: most } = clientLimits;
    const isName = typeof client === "string" && client !== "" && client.length <= name;
    if (!isName) throw invalid(`the name of a client has 1 to ${name} characters`);
    const { clients } = this.#kept.life;
    const isFull = clients.length >= most && this.#find(client) === undefined;
    if (isFull) throw conflict(`there are ${most} clients already. Use the name of one of them`);
    return this.#step(client, "began");
  }

  /** Notes that the client lives: every 10 s. @throws ThroughlineError `THROUGHLINE_CONFLICT`: its run has ended. */
  async heartbeat(client: string): Promise<ClientRun> {
    await this.#open(client);
    return this.#step(client, "beat");
  }

  /** Ends the run in order, and what its model is still to hear. Ending twice is ending once. */
  async end(client: string): Promise<ClientRun> {
    await this.#newest(client);
    return this.#step(client, "ended");
  }

  /** The newest run of a client. @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: it never began one. */
  get(client: string): ClientRun {
    const run = this.#find(client);
    if (run !== undefined) return run;
    const says = "no client of this name ever began a run";
    throw absent(says);
  }

  #find(client: string): ClientRun | undefined {
    return this.#kept.life.clients.find((run) => run.client === client);
  }

  /** The same. Where no run is known to be open, one may have begun at another server: that is read first. */
  async #newest(client: string): Promise<ClientRun> {
    if (this.#find(client)?.isEnded !== false) await this.#kept.readOn();
    return this.get(client);
  }

  /** The same while it is open. @throws ThroughlineError also `THROUGHLINE_CONFLICT`: it has ended. */
  async #open(client: string): Promise<ClientRun> {
    const run = await this.#newest(client);
    if (run.isEnded) throw conflict("the run of this client has ended. Begin another one");
    return run;
  }

  get allOpen(): readonly ClientRun[] {
    return this.#kept.life.clients.filter(({ isEnded }) => !isEnded);
  }

  /** For how long a run was up, or is, in milliseconds. */
  upMs({ startedAt, heartbeat, isEnded }: ClientRun): number {
    const until = isEnded ? heartbeat : readClock(this.#kept.ports.clock);
    return gapBetween(startedAt, until).gapMs ?? 0;
  }

  async appended(client: string, chatId: string): Promise<void> {
    const { chats } = await this.#open(client);
    if (chats.at(-1) !== chatId) await this.#step(client, "appended", chatId);
  }

  /** What the model of a client, or without one of this run, is to hear of the restart, until `delivered`. */
  async restartText(client?: string): Promise<RestartText> {
    const run = client === undefined ? undefined : await this.#newest(client);
    const restart = run === undefined ? await this.#notices.untold() : run.pending;
    const { kind: began } = run?.restart ?? this.#kept.life.shared.report;
    if (restart === undefined) return { kind: began, status: "delivered", text: "" };
    const upMs = run === undefined ? this.#kept.uptimeMs : this.upMs(run);
    const { kind, text } = await this.#notices.textOf(restart, await this.#chatsOf(run), upMs);
    const parts = [await this.#facts(), text].filter((part) => part !== "");
    return { kind, status: "pending", text: parts.join("\n\n") };
  }

  /**
   * Notes that a model heard it.
   *
   * @returns the chats that do not hear of the restart once more: those of the text, or without a client all, of
   *   which the newest 1,000 are named.
   */
  async delivered(client?: string): Promise<readonly string[]> {
    if (client === undefined) {
      const chats = await this.#chatsOf(undefined, maxNamed);
      await this.#kept.save({ kind: "told", run: this.#kept.life.totalRuns });
      return chats;
    }
    // Also those that did not fit into the text.
    const chats = await this.#chatsOf(await this.#newest(client));
    await this.#notices.passedOn(chats);
    await this.#step(client, "delivered");
    return chats;
  }

  /**
   * Keeps a text until the client's model heard it, or its run ends. Of more than 20 the oldest goes.
   *
   * @param text at most 8,000 characters.
   */
  async inject(client: string, text: string): Promise<ClientRun> {
    const { injects } = await this.#open(client);
    if (typeof text !== "string" || text.trim() === "" || text.length > clientLimits.text) {
      throw invalid(`a text to hear has 1 to ${clientLimits.text} characters`);
    }
    if (injects.length >= clientLimits.injects) {
      const fields = { client, id: injects[0]?.id };
      this.#kept.ports.logger.warn(
        fields,
        "too many texts wait for a client: the oldest was dropped",
      );
    }
    return this.#step(client, "inject", text);
  }

  /** Notes that the client's model heard the texts up to the one of this id. */
  async heard(client: string, id: string): Promise<ClientRun> {
    await this.#newest(client);
    return this.#step(client, "heard", id);
  }

  /** Puts what a client is to hear into the stream of a model in this process. @returns what ends it. */
  deliver(client: string, stream: InjectionStream): () => void {
    checkArgument(stream, "stream", having("a stream of a voice model", "onChange"));
    return injectInto(this.#kept, client, stream);
  }

  async #step(client: string, does: ClientStep, text?: string): Promise<ClientRun> {
    await this.#kept.save({ kind: "client", client, does, text });
    return this.get(client);
  }

  async #chatsOf(
    run: ClientRun | undefined,
    limit: number = clientLimits.chats,
  ): Promise<readonly string[]> {
    if (run !== undefined) return [...new Set([...run.chatsBefore, ...run.chats])];
    const { chats } = await this.#kept.ports.chats.list({ limit });
    return chats.map(({ chat_id: chatId }) => chatId);
  }
}
