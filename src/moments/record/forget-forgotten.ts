import type { Chats } from "../../core/chat/chats.ts";
import type { ForgottenChats } from "../../core/chat/tombstones.ts";
import type { MomentRecorder } from "./moment-recorder.ts";

/** Moments that are kept, as far as forgetting a chat goes. */
export interface KeptMoments {
  readonly recorder: MomentRecorder;
  readonly packages: {
    /** One page; `next` is the next one's `before`. */
    list(options: { readonly before?: string; readonly limit?: number }): Promise<{
      readonly packages: readonly {
        readonly manifest: { readonly chat_id: string | null } | undefined;
      }[];
      readonly next: string | null;
    }>;
  };
  /** Forgets those of a chat, or those that hold one message of it, wherever they are. */
  forget(selection: LostPackages): Promise<unknown>;
}

/** What a loss in a chat takes along: the packages of the chat, or those that hold one message. */
export type LostPackages =
  | { readonly chatId: string }
  | { readonly message: { readonly chatId: string; readonly id: string } };

/** `undefined`: none. A clear leaves packages as they are. */
export function lostPackages(
  chatId: string,
  loss: unknown,
  messageId: string | undefined,
): LostPackages | undefined {
  if (loss === "forget") return { chatId };
  if (loss === "clear" || messageId === undefined) return undefined;
  return { message: { chatId, id: messageId } };
}

/** Packages that are looked at together. */
const pageSize = 100;

/**
 * Forgets the moments of chats that were forgotten without this process hearing it. What is in the
 * buffers or waits to be saved goes also when its chat is simply not there. While the chats cannot be
 * asked, words of chats leave the buffers, whatever they are of.
 *
 * @throws ThroughlineError the codes of the storage: ask again.
 */
export async function forgetForgotten(
  kept: KeptMoments,
  chats: Chats,
  forgotten: () => Promise<ForgottenChats>,
): Promise<void> {
  const { recorder } = kept;
  try {
    const { at, isEmpty } = await forgotten();
    const has = (chatId: string) => at(chatId) !== undefined;
    for (const chatId of recorder.chatIds) {
      const isThere = has(chatId) || (await chats.log.state(chatId)).head !== undefined;
      if (!isThere) await recorder.forgetChat(chatId);
    }
    const held = isEmpty ? [] : new Set([...recorder.chatIds, ...(await packaged(kept))]);
    for (const chatId of held) if (has(chatId)) await kept.forget({ chatId });
  } catch (error) {
    recorder.forgetWords();
    throw error;
  }
}

/** The chats that packages are of. */
async function packaged({ packages }: KeptMoments): Promise<ReadonlySet<string>> {
  const chatIds = new Set<string>();
  let before: string | undefined;
  do {
    const page = await packages.list({
      limit: pageSize,
      ...(before === undefined ? {} : { before }),
    });
    for (const { manifest } of page.packages) {
      if (typeof manifest?.chat_id === "string") chatIds.add(manifest.chat_id);
    }
    before = page.next ?? undefined;
  } while (before !== undefined);
  return chatIds;
}
