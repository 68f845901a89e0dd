// `import … from "throughline/companion"`: who the companion is over all its runs, and how it feels.

import type { StoredMessage } from "../core/chat/message.ts";
import type { ForgottenChats, Removed } from "../core/chat/tombstones.ts";
import { errorName } from "../core/errors.ts";
import {
  type Extension,
  noHooks,
  noPart,
  type Removal,
  type TurnHooks,
  type TurnPart,
} from "../core/extension.ts";
import { aThroughline, checkArgument } from "../core/options.ts";
import type { Throughline } from "../core/throughline.ts";
import type { Turn } from "../core/turns/turn.ts";
import { Companion } from "./companion.ts";
import { documentKey } from "./companion-document.ts";
import { companionPart, partOf } from "./conversation/companion-part.ts";
import { forgetLeft, keptChats } from "./forget-chat.ts";
import type { CompanionOptions } from "./options.ts";

export { WorkingMemories, WorkingMemory } from "../core/chat/working-memory.ts";
export type {
  CoordinatorPorts,
  InputTrigger,
  OutputSink,
  SpeechToText,
} from "../core/turns/coordinator.ts";
export { runCoordinator, textInput, textOnly, textOutput } from "../core/turns/coordinator.ts";
export { type Intent, isStopRequest, parseIntent } from "../core/turns/intent.ts";
export type { ClientRun } from "./client-runs.ts";
export type { Clients, RestartText } from "./clients.ts";
export type { Companion, CompanionChange, SleepState } from "./companion.ts";
export type { PersonSeen } from "./companion-document.ts";
export type { InjectionStream } from "./conversation/injector.ts";
export { builtInEmotions } from "./emotion/built-in-emotions.ts";
export { type EmotionConfiguration, readEmotionConfiguration } from "./emotion/configuration.ts";
export type { Feeling } from "./emotion/feel.ts";
export type { CompanionOptions } from "./options.ts";
export type { RestartKind, RestartReport } from "./restart.ts";

/** What receipts call it. */
const name = "companion";

/** How often a run does what is due, in milliseconds: fast enough to feel immediate on the page. */
const passEveryMs = 100;

/**
 * Begins a run of the companion: how the last one ended, how it feels, whom it saw. It takes part in the
 * turns of this `Throughline`, and closing that ends the run. Until then it saves when something is due; its
 * timer does not hold the process.
 *
 * @throws ThroughlineError `THROUGHLINE_NEWER_FORMAT`: a later version wrote its document, which was
 *   left as it is. `THROUGHLINE_CONFLICT`: it was started before on this `Throughline`.
 *   `THROUGHLINE_CONFIGURATION`: an option cannot be used.
 */
export async function startCompanion(
  throughline: Throughline,
  options?: CompanionOptions,
): Promise<Companion> {
  checkArgument(throughline, "throughline", aThroughline);
  const { storage, chats, ports } = throughline;
  const { run } = await throughline.extend(name, async () => {
    const run = await Companion.start({ ...ports, storage, chats }, options);
    return new CompanionExtension(throughline, run);
  });
  return run as Companion;
}

/** Removes what the companion keeps of a chat with the chat, and starts no run. */
export async function extendWithCompanion(throughline: Throughline): Promise<void> {
  checkArgument(throughline, "throughline", aThroughline);
  await throughline.extend(name, async () => new CompanionExtension(throughline, undefined));
}

class CompanionExtension implements Extension {
  readonly run: Companion | undefined;
  readonly #throughline: Throughline;
  #endPasses: (() => void) | undefined;

  constructor(throughline: Throughline, run: Companion | undefined) {
    this.#throughline = throughline;
    this.run = run;
    if (run !== undefined) this.#passLater(run);
  }

  #passLater(run: Companion): void {
    this.#endPasses = this.#throughline.ports.timers.after(passEveryMs, () => {
      run.tick();
      this.#passLater(run);
    });
  }

  /** Also what another process forgot: this one may still have words of it to store. */
  async remove({ chatId }: Removal): Promise<readonly Removed[]> {
    return [{ place: name, count: await this.#forget(chatId) }];
  }

  #forget(chatId: string): Promise<number> {
    const { storage, ports } = this.#throughline;
    return this.run?.forget(chatId) ?? forgetLeft({ ...ports, storage }, chatId);
  }

  async catchUp(read: () => Promise<ForgottenChats>): Promise<void> {
    const { storage, chats } = this.#throughline;
    const forgotten = await read();
    if (forgotten.isEmpty) return;
    for (const [chatId, oldest] of await keptChats(storage)) {
      const at = forgotten.at(chatId);
      if (at === undefined) continue;
      const isThere = (await chats.state(chatId)).head !== undefined;
      // A chat that was begun again keeps what was said since.
      if (!isThere || oldest <= at) await this.#forget(chatId);
    }
    if (storage.cluster.isShared) return;
    const documents = storage.documents("session");
    // What left the document may be in the copies of it, and what cannot be read may be of any chat.
    await documents.forgetCopies(documentKey);
  }

  heard(chatId: string, message: StoredMessage, client?: string): void {
    const { run } = this;
    const { role, content, synthetic, hidden } = message;
    if (client !== undefined) {
      run?.clients.appended(client, chatId).catch((error: unknown) => {
        const fields = { client, error: errorName(error) };
        this.#throughline.ports.logger.warn(fields, "a client without an open run appended");
      });
    }
    if (synthetic !== undefined) return;
    if (role === "user") run?.personSaid(chatId, content);
    // The late answer of a period that has ended, and one without a word, are no reply.
    else if (role === "assistant" && !hidden && content !== "") run?.replied(chatId, content);
  }

  turn(turn: Turn): TurnHooks {
    return this.run === undefined ? noHooks : companionPart(this.run, turn);
  }

  async preview(chatId: string): Promise<TurnPart> {
    if (this.run === undefined) return noPart;
    return partOf(this.run, await this.run.notices.preview(chatId));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#endPasses?.();
    await this.run?.close();
  }
}
