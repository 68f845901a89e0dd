import type { StoredMessage } from "./chat/message.ts";
import type { ForgottenChats, Loss, OtherMemory, Removed, Tombstones } from "./chat/tombstones.ts";
import { closed, conflict, errorName } from "./errors.ts";
import type { Extension, Removal, TurnHooks, TurnPart } from "./extension.ts";
import type { Logger } from "./logger.ts";
import type { Storage } from "./storage/storage.ts";
import type { Turn } from "./turns/turn.ts";

/** The extensions of one `Throughline`, in the order in which they were added. */
export class Extensions implements OtherMemory {
  readonly #storage: Storage;
  readonly #tombstones: Tombstones;
  readonly #logger: Logger;
  /** Those that are being opened among them. */
  readonly #opening = new Map<string, Promise<Extension>>();
  readonly #open = new Map<string, Extension>();
  #closing: Promise<void> | undefined;

  constructor(storage: Storage, tombstones: Tombstones, logger: Logger) {
    this.#storage = storage;
    this.#tombstones = tombstones;
    this.#logger = logger;
  }

  /**
   * Opens an extension and adds it. After a failure it can be tried again.
   *
   * @throws ThroughlineError `THROUGHLINE_CONFLICT`: there is one with this name. `THROUGHLINE_CLOSED`.
   */
  async add<E extends Extension>(name: string, open: () => Promise<E>): Promise<E> {
    if (this.#closing !== undefined) throw closed("this Throughline is closed");
    if (this.#opening.has(name)) throw conflict(`${name}: already started on this Throughline`);
    const opening = open();
    this.#opening.set(name, opening);
    try {
      const extension = await opening;
      await this.#applyMarks(name, extension);
      this.#open.set(name, extension);
      return extension;
    } catch (error) {
      this.#opening.delete(name);
      throw error;
    }
  }

  /**
   * Chats may have been forgotten while it was not loaded. What fails is tried again when it is next
   * added. How far it came is in a document, which also says that it was here.
   */
  async #applyMarks(name: string, extension: Extension): Promise<void> {
    const tombstones = this.#tombstones;
    try {
      const documents = this.#storage.documents(placesCollection);
      const stored = await documents.read(name);
      const applied = stored?.value["applied"];
      // Another process applies them for itself; and marks are fewer after a backup was restored.
      const isKnown = !this.#storage.cluster.isShared && typeof applied === "number";
      const after = isKnown && applied <= (await tombstones.end()) ? applied : 0;
      const { end } = await caughtUp([extension], () => tombstones.after(after));
      if (stored === undefined || (isKnown && end !== applied)) {
        await documents.write(name, { applied: end });
      }
    } catch (error) {
      const fields = { extension: name, error: errorName(error) };
      const says = "what was forgotten before may still be kept; tried again at the next start";
      this.#logger.error(fields, says);
    }
  }

  /**
   * Waits for those that are being opened.
   *
   * @param isElsewhere another process did it, and has the receipt.
   * @returns what each removed, or that it failed.
   */
  async remove(
    chatId: string,
    loss: Loss,
    messageId?: string,
    isElsewhere = false,
  ): Promise<readonly Removed[]> {
    const removal = { loss, chatId, messageId, isElsewhere };
    const rows = await Promise.all(
      [...this.#opening].map(async ([name, opening]) => {
        const extension = await opening.catch(() => undefined); // its opener gets the error
        return extension === undefined ? [] : this.#removeFrom(name, extension, removal);
      }),
    );
    const isKept = loss === "clear" || loss === "take_back" || isElsewhere;
    const unloaded = isKept ? [] : await this.#unloaded();
    const left = unloaded.map((name) => ({ unreachable: notLoaded(name, removal) }));
    return [...rows.flat(), ...left];
  }

  /** The features that keep something here and are not loaded. */
  async #unloaded(): Promise<readonly string[]> {
    const names = await this.#storage.documents(placesCollection).keys();
    return names.filter((name) => !this.#opening.has(name)).sort();
  }

  async #removeFrom(
    name: string,
    extension: Extension,
    removal: Removal,
  ): Promise<readonly Removed[]> {
    const { loss, isElsewhere } = removal;
    const failed = this.#failed("did not remove what it keeps", { name, loss, isElsewhere });
    const rows = await settled(() => extension.remove(removal), failed);
    return rows ?? [{ unreachable: notRemoved(name, removal) }];
  }

  /**
   * Lets each remove what it missed.
   *
   * @throws what the first of them threw, once all are done.
   */
  async catchUp(read: () => Promise<ForgottenChats>): Promise<ForgottenChats> {
    return caughtUp([...this.#open.values()], read);
  }

  /** Lets all of them hear what was said. */
  heard(chatId: string, message: StoredMessage, client?: string): void {
    for (const [name, extension] of this.#open) {
      const failed = this.#failed("failed to hear a message, which is stored", { name });
      tried(() => extension.heard?.(chatId, message, client), failed);
    }
  }

  /** Their part in one turn, as that of one extension. What one of them throws is logged. */
  turn(turn: Turn): TurnHooks {
    const failed = (error: unknown): undefined => {
      const fields = { trace_id: turn.span.traceId };
      return this.#failed("failed in a turn, which continues without it", fields)(error);
    };
    const open = [...this.#open.values()];
    const hooks = open.flatMap((each) => tried(() => each.turn(turn), failed) ?? []);
    return {
      begun: (begun) => together(hooks.map((each) => settled(() => each.begun(begun), failed))),
      ended: (answer) => {
        for (const each of hooks) tried(() => each.ended(answer), failed);
      },
    };
  }

  /** What all of them would add to the next turn of a chat. Changes nothing, and never rejects. */
  async preview(chatId: string): Promise<TurnPart> {
    const failed = this.#failed("failed to say what it adds to the next turn", {});
    const open = [...this.#open.values()];
    return together(open.map((each) => settled(() => each.preview(chatId), failed)));
  }

  /** Logs what an extension threw. */
  #failed(
    says: string,
    { name, ...fields }: { readonly name?: string; readonly [field: string]: unknown },
  ) {
    return (error: unknown): undefined => {
      const all = { extension: name, ...fields, error: errorName(error) };
      this.#logger.error(all, `an extension ${says}`);
    };
  }

  /**
   * Disposes them, the newest first, and takes no more.
   *
   * @throws what the first of them threw, once all are disposed.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const failures: unknown[] = [];
    for (const opening of [...this.#opening.values()].reverse()) {
      const extension = await opening.catch(() => undefined); // its opener gets the error
      try {
        await extension?.[Symbol.asyncDispose]();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Does something whose failure stops nothing else. */
function tried<T>(part: () => T, failed: (error: unknown) => undefined): T | undefined {
  try {
    return part();
  } catch (error) {
    return failed(error);
  }
}

async function settled<T>(part: () => Promise<T>, failed: (error: unknown) => undefined) {
  try {
    return await part();
  } catch (error) {
    return failed(error);
  }
}

async function together(given: readonly Promise<TurnPart | undefined>[]): Promise<TurnPart> {
  const parts = (await Promise.all(given)).filter((part) => part !== undefined);
  return {
    instructions: joined(parts.map(({ instructions }) => instructions)),
    notes: parts.flatMap(({ notes }) => notes),
    context: joined(parts.map(({ context }) => context)),
    acknowledged: parts.find(({ acknowledged }) => acknowledged !== undefined)?.acknowledged,
  };
}

/** Blocks of a prompt, without those that are empty. */
export function joined(blocks: readonly string[]): string {
  return blocks.filter((block) => block !== "").join("\n\n");
}

/** Lets them remove what they missed. @throws what the first of them threw, once all are done. */
async function caughtUp(
  extensions: readonly Extension[],
  read: () => Promise<ForgottenChats>,
): Promise<ForgottenChats> {
  let reading: Promise<ForgottenChats> | undefined;
  const once = () => {
    reading ??= read();
    return reading;
  };
  for (const ended of await Promise.allSettled(extensions.map((each) => each.catchUp(once)))) {
    if (ended.status === "rejected") throw ended.reason;
  }
  return once();
}

/** Beside the marks of forgotten chats: for each feature, up to which mark it has removed what it kept. */
const placesCollection = "forgotten";

function notLoaded(name: string, { loss }: Removal): string {
  const here = `${name}: kept here, and not loaded in this process`;
  return loss === "forget"
    ? `${here}; removed when it is next started`
    : `${here}; repeat this where it is loaded`;
}

function notRemoved(name: string, { loss }: Removal): string {
  return loss === "forget"
    ? `${name}: not removed; tried again at its next start`
    : `${name}: not removed; repeat this`;
}
