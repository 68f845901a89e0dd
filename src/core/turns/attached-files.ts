// What a model gets of the files that people sent: bytes, text, or a line that names them.

import { attachmentLimits, kindOf, textIn, wholeFile } from "../chat/attachments.ts";
import type { Chats } from "../chat/chats.ts";
import type { Attachment, ModelFile, ModelInput } from "../chat/message.ts";
import { fenced, fileNote } from "../chat/model-row.ts";
import type { Responder } from "../models/responder.ts";

interface Asking {
  readonly chats: Pick<Chats, "files">;
  readonly chatId: string;
  readonly responder: Pick<Responder, "model" | "takes">;
  readonly signal: AbortSignal;
}

/** The messages of a request, and what the person is told of the files that were just sent. */
interface Attached {
  readonly messages: readonly ModelInput[];
  /** One sentence for each reason that files of the newest message did not reach the model. */
  readonly notices: readonly string[];
  /** Whether any bytes are in it. */
  readonly hasBytes: boolean;
}

/**
 * Reads the files of a history for a request: the newest first, at most 20 MiB of those that go as bytes.
 * An older one past that is named, like one that the model does not take.
 */
export async function withFiles(
  messages: readonly ModelInput[],
  { chats, chatId, responder, signal }: Asking,
): Promise<Attached> {
  const newest = messages.findLastIndex(({ role }) => role === "user");
  /** By type, whether the model takes such files. */
  const taken = new Map<string, boolean>();
  const refused: { readonly name: string; readonly why: string }[] = [];
  const made = [...messages];
  let room: number = attachmentLimits.bytes;
  const read = async (file: Attachment): Promise<Got> => {
    const { type, name, size, sha256 } = file;
    const named = (why: string, more: string): Got => {
      return { file, line: `[${fileNote(type, name, `, ${more}`)}]`, why };
    };
    const kind = kindOf(file);
    const isText = kind === "text";
    if (isText && size > attachmentLimits.textBytes) {
      return named("a text may have 256 KiB", "too long to be shown to you");
    }
    if (!isText && kind !== "other" && !taken.has(type)) {
      taken.set(type, (await responder.takes?.(type, signal)) ?? false);
    }
    if (!isText && taken.get(type) !== true) {
      return named(`${responder.model} does not take ${plurals[kind]}`, "not shown to you");
    }
    if (!isText && size > room) {
      return named("there were too many bytes", "no longer shown to you");
    }
    const bytes = await wholeFile(chats.files, chatId, sha256);
    const text = isText ? bytes && textIn(bytes) : "";
    if (bytes === undefined || text === undefined) {
      return named("it could not be read", "could not be read");
    }
    const note = `[${fileNote(type, name)}]`;
    if (isText) return { file, line: `${note}\n${fenced(text)}` };
    room -= bytes.length;
    return { file: { ...file, bytes }, line: note };
  };
  for (const [index, message] of [...messages.entries()].toReversed()) {
    if (message.role !== "user" || message.files === undefined) continue;
    const got: Got[] = [];
    for (const file of message.files) got.push(await read(file));
    const lines = [message.content, ...got.map(({ line }) => line)];
    const content = lines.filter((text) => text !== "").join("\n\n");
    made[index] = { ...message, content, files: got.map(({ file }) => file) };
    if (index !== newest) continue;
    for (const { file, why } of got) if (why !== undefined) refused.push({ name: file.name, why });
  }
  const notices = [...Map.groupBy(refused, ({ why }) => why)].map(([why, files]) => {
    return `${listed(files.map(({ name }) => name))}: not sent to the model, because ${why}.`;
  });
  return { messages: made, notices, hasBytes: room < attachmentLimits.bytes };
}

/** The same messages for a model that refused the bytes. */
export function withoutBytes(messages: readonly ModelInput[]): readonly ModelInput[] {
  return messages.map((message) => {
    if (message.role !== "user") return message;
    // A text that is in the message itself is shown.
    if (!message.files?.some(({ bytes }) => bytes !== undefined)) return message;
    const files = message.files.map(({ bytes: _, ...file }) => file);
    return { ...message, files, content: `${message.content}\n\n(${notShown})` };
  });
}

const notShown = "The files that are named above could not be shown to you.";

/** The names of what the newest message sent as bytes. */
export function sentNames(messages: readonly ModelInput[]): string {
  const newest = messages.findLast(({ role }) => role === "user");
  const files = newest?.role === "user" ? (newest.files ?? []) : [];
  return listed(files.flatMap(({ name, bytes }) => (bytes === undefined ? [] : [name])));
}

interface Got {
  readonly file: ModelFile;
  /** Names it to the model, or holds its text. */
  readonly line: string;
  /** Why neither its bytes nor its text are in the request. */
  readonly why?: string;
}

const plurals = { picture: "pictures", pdf: "PDF files", text: "text files", other: "such files" };

/** `a`, `a and b`, `a, b and c`. */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
