import { attachmentsOf, kindOf, textIn } from "../../core/chat/attachments.ts";
import type { Attachment } from "../../core/chat/message.ts";
import { fenced, fileNote } from "../../core/chat/model-row.ts";
import { withName } from "../../core/chat/person-name.ts";
import { attachmentFile } from "../package/content.ts";
import type { Manifest, PackageMessage } from "../package/record.ts";

/** A package that is being exported. */
export interface OpenPackage {
  readonly manifest: Manifest;
  readonly messages: readonly PackageMessage[];
  /** Reads the file at a path of the manifest. */
  part(path: string): Promise<Buffer>;
}

/**
 * Reads the messages of a package as their model got them: with the name of who spoke, the names of files and
 * the text of text files. `attachments` are the pictures that the package has.
 */
export async function sentMessages(from: OpenPackage): Promise<readonly PackageMessage[]> {
  const there = new Set(from.manifest.files.map(({ path }) => path));
  const isHere = ({ sha256 }: Attachment) => there.has(attachmentFile(sha256));
  const sent = async (message: PackageMessage): Promise<PackageMessage> => {
    if (message.role !== "USER") return message;
    const files = attachmentsOf({ attachments: message.attachments });
    const lines = [withName(message.name, message.delivered ?? message.text)];
    for (const file of files) {
      const note = `[${fileNote(file.type, file.name)}]`;
      const isText = kindOf(file) === "text" && isHere(file);
      const text = isText && textIn(await from.part(attachmentFile(file.sha256)));
      lines.push(text ? `${note}\n${fenced(text)}` : note);
    }
    const text = lines.filter((line) => line !== "").join("\n\n");
    const attachments = files.filter((file) => kindOf(file) === "picture" && isHere(file));
    return { ...message, text, delivered: null, attachments };
  };
  return Promise.all(from.messages.map(sent));
}
