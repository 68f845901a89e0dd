// `import … from "throughline/moments"`: what people react to, kept as packages.

import { wholeFile } from "../core/chat/attachments.ts";
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
import type { JsonObject } from "../core/json.ts";
import type { Logger } from "../core/logger.ts";
import { aThroughline, checkArgument, misconfigured } from "../core/options.ts";
import type { Cluster } from "../core/storage/cluster.ts";
import type { OwnHome } from "../core/storage/storage.ts";
import type { Throughline } from "../core/throughline.ts";
import type { Turn } from "../core/turns/turn.ts";
import { type ForgetReceipt, Moments, openParts, withPackagesOf } from "./moments.ts";
import { type MomentsOptions, momentsSettings } from "./options.ts";
import { forgetForgotten, forgetPackagesOf } from "./record/forget-forgotten.ts";
import type { ReadFile } from "./record/moment.ts";
import { capturePrompt, type Fed, feedTurn, hear } from "./turns/feed.ts";

export type { Mark, PackageDirectory } from "./directory/package-directory.ts";
export type { Selection } from "./directory/whose.ts";
export type { ForgetReceipt, Moments, MomentsStatistics } from "./moments.ts";
export type { MomentsOptions } from "./options.ts";
export type { Consent } from "./package/record.ts";
export type { AutoEvent } from "./record/auto-record.ts";
export { type ConsentInput, consentWording } from "./record/consent.ts";
export type { MomentInput, TranscriptMessage } from "./record/label.ts";
export type {
  AudioChunk,
  AudioPush,
  FrameEncoder,
  FramePush,
  PushResult,
  RawFrame,
  SourceTime,
} from "./record/media.ts";
export type { NewMessage } from "./record/messages.ts";
export type { MomentFacts } from "./record/moment.ts";
export type { MomentRecorder, MomentStats } from "./record/moment-recorder.ts";
export type { MomentEvent, Receipt, ReceiptReason, ReceiptState } from "./record/receipt.ts";
export type { S3TargetOptions } from "./s3/options.ts";
export { recallWords } from "./turns/recall.ts";
export {
  offerSkills,
  patHintKind,
  reactionsPrompt,
  rememberSkills,
  type Skill,
  type SkillCall,
} from "./turns/skills.ts";
export { transcriptUpTo } from "./turns/transcript.ts";

/** Between two tries to delete a package, in milliseconds. */
const retryMs = 60_000;

/** What receipts call it. */
const name = "moments";

/**
 * Begins to keep what leads to reactions, and makes packages of them in the home. What is said in the
 * turns of this `Throughline` is fed to it, and closing that closes it.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: there is no home to keep them in, or an option
 *   cannot be used.   `THROUGHLINE_CONFLICT`: they were started before on this `Throughline`. `THROUGHLINE_CLOSED`.
 */
export async function startMoments(
  throughline: Throughline,
  given: MomentsOptions,
): Promise<Moments> {
  checkArgument(throughline, "throughline", aThroughline);
  const { kept } = await throughline.extend(name, async () => {
    const options = momentsSettings(given);
    const { persona, withSkills, hurtful } = options;
    const { ports, chats } = throughline;
    const readFile: ReadFile = (chatId, sha256) => wholeFile(chats.files, chatId, sha256);
    const moments = new Moments(await openParts(ports, homeOf(throughline), readFile, options));
    if (persona !== undefined) capturePrompt(moments.recorder, persona, withSkills);
    return new MomentsExtension(throughline, { moments, hurtful });
  });
  return (kept as Kept).moments;
}

/** Removes what the home has of a chat with the chat, and keeps no moments. */
export async function extendWithMoments(throughline: Throughline): Promise<void> {
  checkArgument(throughline, "throughline", aThroughline);
  await throughline.extend(name, async () => new MomentsExtension(throughline, undefined));
}

interface Kept extends Fed {
  readonly moments: Moments;
}

class MomentsExtension implements Extension {
  readonly kept: Kept | undefined;
  readonly #throughline: Throughline;
  readonly #agreeNoMore: () => void;
  /** What cancels the next try to delete a package, by its name. */
  readonly #retries = new Map<string, () => void>();
  #isClosed = false;

  constructor(throughline: Throughline, kept: Kept | undefined) {
    this.#throughline = throughline;
    this.kept = kept;
    const { storage, ports } = throughline;
    this.#agreeNoMore = kept
      ? agreeWithOthers(storage.cluster, kept.moments, ports.logger)
      : () => undefined;
  }

  async remove({ loss, chatId, messageId, isElsewhere }: Removal): Promise<readonly Removed[]> {
    if (loss !== "forget") this.kept?.moments.recorder.removeWords(chatId, messageId);
    // A clear, and what is taken back, leave packages.
    const isErased = loss === "erase" && messageId !== undefined;
    if (loss !== "forget" && !isErased) return [];
    const selection = isErased ? { message: { chatId, id: messageId } } : { chatId };
    const deleted = await this.#withPackages((kept) => kept.forget(selection));
    if (isElsewhere) this.#retry(deleted?.failed ?? []);
    const rows = removedOf(deleted);
    // A chat that is forgotten leaves a mark, which the others find when they start.
    const { isShared } = this.#throughline.storage.cluster;
    const isForOthers = isShared && messageId !== undefined && !isElsewhere;
    return isForOthers ? [...rows, { unreachable: packagesElsewhere }] : rows;
  }

  /** Deletes later what the disk refused, where no caller hears of it. By name: the chat may be begun again. */
  #retry(failed: readonly { readonly name: string }[]): void {
    for (const { name } of failed) {
      if (this.#isClosed || this.#retries.has(name)) continue;
      const cancel = this.#throughline.ports.timers.after(retryMs, () => {
        this.#retries.delete(name);
        void this.#withPackages((kept) => kept.forget({ name })).then(
          (receipt) => this.#retry(receipt?.failed ?? []),
          () => this.#retry([{ name }]),
        );
      });
      this.#retries.set(name, cancel);
    }
  }

  /** Works with what is kept now, or else with the packages that the home has. */
  async #withPackages<T>(
    work: (kept: Pick<Moments, "packages" | "forget">) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.kept !== undefined) return work(this.kept.moments);
    const home = this.#throughline.storage.ownHome;
    return home && withPackagesOf(home, work);
  }

  async preview(): Promise<TurnPart> {
    return noPart;
  }

  async catchUp(read: () => Promise<ForgottenChats>): Promise<void> {
    const { chats } = this.#throughline;
    if (this.kept !== undefined) return forgetForgotten(this.kept.moments, chats, read);
    const forgotten = await read();
    if (forgotten.isEmpty) return;
    await this.#withPackages((kept) => forgetPackagesOf(kept, chats, forgotten));
  }

  heard(chatId: string, message: StoredMessage): void {
    if (this.kept !== undefined && !message.hidden) hear(chatId, message, this.kept);
  }

  turn(turn: Turn): TurnHooks {
    if (this.kept !== undefined) void feedTurn(turn, this.kept.moments.recorder);
    return noHooks;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agreeNoMore();
    this.#isClosed = true;
    for (const cancel of this.#retries.values()) cancel();
    await this.kept?.moments.close();
  }
}

function homeOf({ storage }: Throughline): OwnHome {
  if (storage.ownHome !== undefined) return storage.ownHome;
  throw misconfigured(
    "moments are kept in a home, and this process has none: open one, and only in this process",
  );
}

/** Each server has packages of its own. One that does not run does not hear of it, and none answers. */
export const packagesElsewhere =
  "packages at other servers: those that run delete theirs now; repeat this at one that did not run";

/** Places that held nothing are left out, but for the first. */
function removedOf(deleted: ForgetReceipt | undefined): readonly Removed[] {
  const { packages = 0, pending = 0, remote = [] } = deleted ?? {};
  const { failed = [], unreadable = [] } = deleted ?? {};
  return [
    { place: "packages", count: packages },
    ...(pending > 0 ? [{ place: "pending uploads", count: pending }] : []),
    // Deleted there as soon as their bucket answers.
    ...(remote.length > 0 ? [{ place: "remote copies", count: remote.length }] : []),
    // Left where they are: the disk refused, or it is unknown whose they are.
    ...failed.map((each) => ({ unreachable: `the package ${each.name}, not deleted` })),
    ...unreadable.map((each) => ({ unreachable: `the package ${each}, which cannot be read` })),
  ];
}

/**
 * What is agreed to at one process holds at all that run: a person who withdraws it does not know
 * which of them they reach.
 *
 * @returns what ends it.
 */
function agreeWithOthers(cluster: Cluster, moments: Moments, logger: Logger): () => void {
  const endAgreed = moments.onAgreed((consent, by) => {
    if (by === "here")
      cluster.publish({ about: "consent", consent: consent as unknown as JsonObject });
  });
  const endTold = cluster.subscribe(({ about, consent }) => {
    if (about !== "consent") return;
    moments.agreedElsewhere(consent).catch((error: unknown) => {
      const fields = { error: errorName(error) };
      logger.error(fields, "what was agreed to at another process is not kept for the next run");
    });
  });
  return () => {
    endAgreed();
    endTold();
  };
}
