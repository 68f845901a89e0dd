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
  asking: Asking,
): Promise<Attached> {
  if (!messages.some((message) => message.role === "user" && message.files !== undefined)) {
    return { messages, notices: [], hasBytes: false };
  }
  const newest = messages.findLastIndex(({ role }) => role === "user");
  const taking = new Map<string, boolean>();
  const made = [...messages];
  const refused: { readonly name: string; readonly why: string }[] = [];
  let room: number = attachmentLimits.bytes;
  for (const [index, message] of [...messages.entries()].toReversed()) {
    if (message.role !== "user" || message.files === undefined) continue;
    const lines: string[] = [];
    const files: ModelFile[] = [];
    for (const file of message.files) {
      const got = await modelFile(file, asking, { taking, room });
      room -= got.file.bytes?.length ?? 0;
      files.push(got.file);
      lines.push(got.line);
      if (index === newest && got.why !== undefined)
        refused.push({ name: file.name, why: got.why });
    }
    const content = [message.content, ...lines].filter((text) => text !== "").join("\n\n");
    made[index] = { ...message, content, files };
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

async function modelFile(
  file: Attachment,
  asking: Asking,
  { taking, room }: { readonly taking: Map<string, boolean>; readonly room: number },
): Promise<Got> {
  const { type, name, size, sha256 } = file;
  const { chats, chatId, responder, signal } = asking;
  const named = (why: string, more: string): Got => {
    return { file, line: `[${fileNote(type, name, `, ${more}`)}]`, why };
  };
  const unread = named("it could not be read", "could not be read");
  const kind = kindOf(file);
  if (kind === "text") {
    if (size > attachmentLimits.textBytes) {
      return named("a text may have 256 KiB", "too long to be shown to you");
    }
    const bytes = await wholeFile(chats.files, chatId, sha256);
    const text = bytes && textIn(bytes);
    if (text === undefined) return unread;
    return { file, line: `[${fileNote(type, name)}]\n${fenced(text)}` };
  }
  if (kind !== "other" && !taking.has(type)) {
    taking.set(type, (await responder.takes?.(type, signal)) ?? false);
  }
  if (taking.get(type) !== true) {
    return named(`${responder.model} does not take ${plurals[kind]}`, "not shown to you");
  }
  if (size > room) return named("there were too many bytes", "no longer shown to you");
  const bytes = await wholeFile(chats.files, chatId, sha256);
  if (bytes === undefined) return unread;
  return { file: { ...file, bytes }, line: `[${fileNote(type, name)}]` };
}

const plurals = { picture: "pictures", pdf: "PDF files", text: "text files", other: "such files" };

/** `a`, `a and b`, `a, b and c`. */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
