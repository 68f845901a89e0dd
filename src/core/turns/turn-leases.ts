import type { ChatLog } from "../chat/chat-log.ts";
import { ThroughlineError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Lease } from "../storage/leases.ts";
import type { Turn } from "./turn.ts";

/** What another process asks for: that this turn, the one that runs, or every one of a chat is cut short. */
export interface StopAsked {
  readonly chatId: string;
  readonly turnId?: string | undefined;
  readonly all: boolean;
}

/** A chat that another process has for a moment, only to ask the same, is asked for so often. */
const mostAsked = 3;

/**
 * One turn at a time per chat among all processes that write the chats. A turn holds its chat's lease
 * from before it reads anything until all that it stores is stored.
 */
export class TurnLeases {
  readonly #log: ChatLog;
  /** Chats that are being released: the next turn of this process asks when that is done. */
  readonly #releasing = new Map<string, Promise<void>>();
  /** Chats of which it is found out now whether another process has them. */
  readonly #asking = new Map<string, Promise<boolean>>();
  readonly #unsubscribe: () => void;

  /** @param stop cuts short what runs in this process. */
  constructor(log: ChatLog, stop: (asked: StopAsked) => void) {
    this.#log = log;
    this.#unsubscribe = log.cluster.subscribe((message) => {
      const asked = readStop(message);
      if (asked !== undefined) stop(asked);
    });
  }

  /**
   * Runs a turn while no other process runs one in its chat. If the lease is lost while it runs,
   * the turn is fenced. The chat is released after this settles, which no caller has to wait for.
   *
   * @param wait.waits called first when another process has the chat; the turn waits once it resolves.
   * @param wait.closing ends the waiting.
   * @param work gets whether the turn waited.
   */
  async hold<T>(
    turn: Turn,
    wait: { readonly waits: () => Promise<void>; readonly closing: AbortSignal },
    work: (waited: boolean) => Promise<T>,
  ): Promise<T> {
    await this.#releasing.get(turn.chatId);
    await this.#log.free(turn.chatId); // such as of an erasure
    const known = await this.#log.tryLease(turn.chatId);
    const lease = known ?? (await this.#wait(turn, wait));
    const fence = () => turn.fence(fencedBy(lease.lost.reason));
    lease.lost.addEventListener("abort", fence, { once: true });
    try {
      if (lease.lost.aborted) fence();
      return await work(known === undefined);
    } finally {
      lease.lost.removeEventListener("abort", fence);
      this.#release(turn.chatId, lease);
    }
  }

  /** Whether another process has this chat, such as for a turn. */
  isElsewhere(chatId: string): Promise<boolean> {
    // Two that ask at once would each take the other for somebody who has it.
    const known = this.#asking.get(chatId);
    if (known !== undefined) return known;
    const asking = this.#ask(chatId).finally(() => this.#asking.delete(chatId));
    this.#asking.set(chatId, asking);
    return asking;
  }

  async #ask(chatId: string): Promise<boolean> {
    for (let attempt = 1; attempt <= mostAsked; attempt++) {
      await this.#releasing.get(chatId);
      if (this.#log.isHeld(chatId)) return false;
      const lease = await this.#log.tryLease(chatId);
      await lease?.release();
      if (lease !== undefined) return false;
    }
    return true;
  }

  /** Cuts short what another process runs in a chat. @returns whether one has it. */
  async stopElsewhere(chatId: string): Promise<boolean> {
    const { head } = await this.#log.state(chatId);
    if (head === undefined || !(await this.isElsewhere(chatId))) return false;
    this.#log.cluster.publish({ about: "stop", chat: chatId, turn: head.open_turn?.id });
    return true;
  }

  /** Cuts short what other processes run in a chat, and what waits there. Resolves when none has it. */
  async endElsewhere(chatId: string, closing: AbortSignal): Promise<void> {
    if (!(await this.isElsewhere(chatId))) return;
    this.#log.cluster.publish({ about: "stop", chat: chatId, all: true });
    const lease = await this.#log.lease(chatId, closing);
    await lease.release();
  }

  /** Resolves when the chats of turns that have ended are released. */
  async released(): Promise<void> {
    while (this.#releasing.size > 0) await Promise.all(this.#releasing.values());
  }

  /** Listens no more. */
  close(): void {
    this.#unsubscribe();
  }

  async #wait(
    turn: Turn,
    { waits, closing }: { readonly waits: () => Promise<void>; readonly closing: AbortSignal },
  ): Promise<Lease> {
    turn.add({ type: "queued" });
    await waits();
    return this.#log.lease(turn.chatId, closing);
  }

  #release(chatId: string, lease: Lease): void {
    const released = lease.release().finally(() => {
      if (this.#releasing.get(chatId) === released) this.#releasing.delete(chatId);
    });
    this.#releasing.set(chatId, released);
  }
}

function fencedBy(cause: unknown): ThroughlineError {
  return new ThroughlineError("this process lost the chat while it ran a turn there", {
    code: "THROUGHLINE_FENCED",
    cause,
  });
}

function readStop(message: JsonObject): StopAsked | undefined {
  const { about, chat: chatId, turn: turnId, all } = message;
  if (about !== "stop" || typeof chatId !== "string") return undefined;
  return { chatId, all: all === true, turnId: typeof turnId === "string" ? turnId : undefined };
}
