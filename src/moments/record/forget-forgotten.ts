import type { Chats } from "../../core/chat/chats.ts";
import type { ForgottenChats } from "../../core/chat/tombstones.ts";
import { unavailable } from "../../core/errors.ts";
import type { Moments } from "../moments.ts";

/**
 * Forgets the moments of chats that were forgotten without this process hearing it. What is in the
 * buffers or waits to be saved goes also when its chat is simply not there. While the chats cannot be
 * asked, words of chats leave the buffers, whatever they are of.
 *
 * @throws ThroughlineError the codes of the storage: ask again.
 */
export async function forgetForgotten(
  kept: Pick<Moments, "recorder" | "packages" | "forget">,
  chats: Chats,
  read: () => Promise<ForgottenChats>,
): Promise<void> {
  const { recorder } = kept;
  try {
    const forgotten = await read();
    for (const chatId of recorder.chatIds) {
      if (forgotten.at(chatId) !== undefined) await kept.forget({ chatId });
      else if ((await chats.state(chatId)).head === undefined) {
        await recorder.forgetChat(chatId);
      }
    }
    await forgetPackagesOf(kept, chats, forgotten);
  } catch (error) {
    recorder.forgetWords();
    throw error;
  }
}

/**
 * The same for packages: of a chat that was begun again, those from before it was forgotten.
 *
 * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: one of them could not be deleted.
 */
export async function forgetPackagesOf(
  kept: Pick<Moments, "packages" | "forget">,
  chats: Chats,
  forgotten: ForgottenChats,
): Promise<void> {
  if (forgotten.isEmpty) return;
  let failed = 0;
  let hasUnknown = false;
  for await (const { name, chatIds, isUnknown, at } of kept.packages.owned()) {
    hasUnknown ||= isUnknown;
    for (const chatId of chatIds) {
      const forgottenAt = forgotten.at(chatId);
      if (forgottenAt === undefined) continue;
      const { head } = await chats.state(chatId);
      const createdAt = head && Date.parse(head.created_at);
      // Where the clock was set back, the chat that is there is older than the mark, and not what it is of.
      const isNew = createdAt !== undefined && at >= Math.min(createdAt, forgottenAt + 1);
      if (isNew) continue;
      failed += (await kept.forget({ name })).failed.length;
      break;
    }
  }
  // A deletion that failed half way leaves nothing that says whose it was.
  if (hasUnknown) failed += (await kept.forget({ unfinished: true })).failed.length;
  if (failed === 0) return;
  const says = `${failed} packages of forgotten chats could not be deleted`;
  throw unavailable(says);
}
