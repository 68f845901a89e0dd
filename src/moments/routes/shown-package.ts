import { holdsRemoved } from "../../core/chat/shown-messages.ts";
import { isThroughlineError, ThroughlineError } from "../../core/errors.ts";
import type { Router } from "../../server/router.ts";
import type { Manifest } from "../package/record.ts";

/**
 * A package is deleted with a message that it holds. One that was not reached then, such as one that a
 * backup brought back, is not shown.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: a message in it was hidden or erased.
 */
export async function assertShown(
  { ports }: Router,
  { chat_id: chatId }: Pick<Manifest, "chat_id">,
  messages: readonly { readonly id: string }[],
): Promise<void> {
  const { logs } = ports.throughline.chats;
  const ids = messages.map(({ id }) => id);
  if (!(await holdsRemoved(logs, chatId, ids))) return;
  throw new ThroughlineError(withheld, { code: "THROUGHLINE_NOT_FOUND" });
}

const withheld =
  "a message in this package was hidden or erased: delete the package, or hide the message again";

const notKnown =
  "the chat of this package cannot be read: whether a message in it was hidden or erased is not known";

/** What a list shows of a package; a string: why it shows nothing of what was judged. */
export async function listedManifest(
  { ports }: Router,
  manifest: Manifest,
): Promise<Manifest | typeof withheld | typeof notKnown> {
  const { chat_id: chatId, target, trigger_turn: trigger } = manifest;
  const ids = [...(target?.message_ids ?? []), trigger?.message_id ?? undefined];
  const { logs } = ports.throughline.chats;
  const known = ids.filter((id) => id !== undefined);
  try {
    return (await holdsRemoved(logs, chatId, known)) ? withheld : manifest;
  } catch (error) {
    if (isThroughlineError(error)) return notKnown; // a fault stays with its chat
    throw error;
  }
}
