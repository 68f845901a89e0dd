import type { Chats } from "../../core/chat/chats.ts";
import type { ForgottenChats } from "../../core/chat/tombstones.ts";
import type { MomentRecorder } from "./moment-recorder.ts";

/** Moments that are kept, as far as forgetting a chat goes. */
interface KeptMoments {
  readonly recorder: MomentRecorder;
  readonly packages: {
    /** One page; `next` is the next one's `before`. */
    list(options: { readonly before?: string; readonly limit?: number }): Promise<{
      readonly packages: readonly {
        readonly name: string;
        readonly manifest:
          | { readonly chat_id: string | null; readonly timestamp: number }
          | undefined;
      }[];
      readonly next: string | null;
    }>;
  };
  /** Forgets those of a chat, those that hold one message of it, or one, wherever they are. */
  forget(selection: LostPackages | { readonly name: string }): Promise<unknown>;
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
  read: () => Promise<ForgottenChats>,
): Promise<void> {
  const { recorder } = kept;
  try {
    const forgotten = await read();
    for (const chatId of recorder.chatIds) {
      if (forgotten.at(chatId) !== undefined) await kept.forget({ chatId });
      else if ((await chats.log.state(chatId)).head === undefined) {
        await recorder.forgetChat(chatId);
      }
    }
    await forgetPackagesOf(kept, chats, forgotten);
  } catch (error) {
    recorder.forgetWords();
    throw error;
  }
}

/** The same for packages: of a chat that was begun again, those from before it was forgotten. */
export async function forgetPackagesOf(
  kept: Pick<KeptMoments, "packages" | "forget">,
  chats: Chats,
  forgotten: ForgottenChats,
): Promise<void> {
  if (forgotten.isEmpty) return;
  const gone = new Set<string>();
  for await (const { name, chatId, at } of packagesOf(kept)) {
    const forgottenAt = forgotten.at(chatId);
    if (forgottenAt === undefined || gone.has(chatId)) continue;
    if ((await chats.log.state(chatId)).head === undefined) {
      gone.add(chatId);
      await kept.forget({ chatId });
    } else if (at <= forgottenAt) await kept.forget({ name });
  }
}

/** The packages that are of a chat, and when somebody reacted. */
async function* packagesOf({ packages }: Pick<KeptMoments, "packages">) {
  let before: string | undefined;
  do {
    const page = await packages.list(
      before === undefined ? { limit: pageSize } : { limit: pageSize, before },
    );
    for (const { name, manifest } of page.packages) {
      if (typeof manifest?.chat_id !== "string") continue;
      yield { name, chatId: manifest.chat_id, at: manifest.timestamp * 1_000 };
    }
    before = page.next ?? undefined;
  } while (before !== undefined);
}
