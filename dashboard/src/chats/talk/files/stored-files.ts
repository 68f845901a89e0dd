import { chatPath, newKey, open } from "../../../api/client.ts";
import type { Attachment, Message } from "../../../api/openapi-types.ts";
import type { DraftFile } from "./draft-files.ts";

/** Where the bytes of a file of a message are; `undefined`: they were never stored here. */
export function fileAddress(
  chatId: string,
  message: Pick<Message, "id">,
  { sha256 }: Attachment,
): string | undefined {
  if (sha256 === undefined) return undefined;
  return `${chatPath(chatId)}/messages/${encodeURIComponent(message.id)}/attachments/${sha256}`;
}

/** Only these are shown: the server sends every other file as a download. */
const pictures: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function isPicture({ type }: Pick<Attachment, "type">): boolean {
  return pictures.includes(type);
}

/** The files of a stored message, to be sent again. @throws ProblemError one cannot be read. */
export async function storedFiles(chatId: string, message: Message): Promise<readonly DraftFile[]> {
  const files: DraftFile[] = [];
  for (const each of message.attachments ?? []) {
    const address = fileAddress(chatId, message, each);
    if (address === undefined) continue;
    const { name, type } = each;
    const file = new File([await (await open(address)).blob()], name, { type });
    files.push({ key: newKey(), name, type, size: file.size, file });
  }
  return files;
}

/** `12 KB`, `3.4 MB`: in powers of 1,000, as file managers show it. */
export function sizeText(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 999_500) return `${Math.round(count / 1_000)} KB`;
  const megabytes = count / 1_000_000;
  return `${megabytes < 9.95 ? megabytes.toFixed(1) : Math.round(megabytes)} MB`;
}
