// A package taken apart: what its model got, and the answer that was judged.
import { attachmentsOf, kindOf, textIn } from "../../core/chat/attachments.ts";
import type { Attachment } from "../../core/chat/message.ts";
import { fenced, fileNote } from "../../core/chat/model-row.ts";
import { withName } from "../../core/chat/person-name.ts";
import { attachmentFile } from "../package/content.ts";
import type { Manifest, PackageMessage } from "../package/record.ts";
import type { SkipReason } from "./selection.ts";

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

/** A judged turn, taken apart: before it is put in the form that a trainer reads. */
export interface JudgedTurn {
  /** The system prompt that was in force; undefined: not known. */
  readonly system: string | undefined;
  /** What the answer was given to: nothing synthetic, beginning with a user's message, as in `sentMessages`. */
  readonly before: readonly PackageMessage[];
  /** The answer as it was delivered; never blank. */
  readonly answer: string;
  /** Whole turns that were left out at the start. */
  readonly cutTurns: number;
  /** When the judged turn began: milliseconds relative to the trigger; null: not known. */
  readonly startMs: number | null;
}

/**
 * Finds the answer that was judged and what it was given to. The answer is what the judged turn said
 * after its last tool call that was followed by words; all that stands before those is prompt, and
 * what comes after, the praise itself too, stays out.
 *
 * @param maxPromptChars in UTF-16 units: whole turns are cut from the start until the prompt fits.
 * The system prompt and the last turn stay whatever their length.
 */
export function judgedTurn(
  manifest: Manifest,
  messages: readonly PackageMessage[],
  maxPromptChars: number,
): JudgedTurn | SkipReason {
  const { target, trigger_turn, latched } = manifest;
  if (target === null) return "no_target";
  const own = new Set(target.message_ids);
  const end = Math.min(target.index + target.count, messages.length);
  const answer = lastWords(messages, own, target.index, end);
  if (answer === undefined) return "empty_completion";
  const isPraise = ({ id, turn_id }: PackageMessage) =>
    trigger_turn !== null &&
    (id === trigger_turn.message_id ||
      (turn_id !== null && turn_id === trigger_turn.turn_id && turn_id !== target.turn_id));
  const system =
    typeof latched["system_prompt"] === "string" ? latched["system_prompt"] : undefined;
  const real = messages.slice(0, answer.index).filter((message) => {
    if (message.synthetic !== null || isPraise(message)) return false;
    if (message.role === "SYSTEM" && message.text === system) return false;
    return message.role === "TOOL" || hasCalls(message) || hasWords(message);
  });
  // What the answer was given to ends it: a user's message or a tool's result.
  const last = real.findLastIndex(
    (message) => message.role === "TOOL" || (message.role !== "SYSTEM" && hasWords(message)),
  );
  const before = real.slice(0, last + 1);
  const isAnswered = before.at(-1)?.role === "USER" || before.at(-1)?.role === "TOOL";
  if (!isAnswered || !before.some(({ role }) => role === "USER")) return "synthetic_prompt";
  const room = maxPromptChars - (system?.length ?? 0);
  const { kept, cutTurns } = lastTurns(fromFirstUser(before), room);
  const startMs = messages[target.index]?.t_ms ?? null;
  return { system, before: kept, answer: answer.text, cutTurns, startMs };
}

/** What was heard or seen of a message. */
export function delivered(message: PackageMessage): string {
  return message.delivered ?? message.text;
}

function hasCalls({ tool_calls }: PackageMessage): boolean {
  return Array.isArray(tool_calls) && tool_calls.length > 0;
}

function hasWords(message: PackageMessage): boolean {
  return delivered(message).trim() !== "";
}

/** The last words of the turn that no tool's result comes between, and where they begin. */
function lastWords(
  messages: readonly PackageMessage[],
  own: ReadonlySet<string>,
  from: number,
  end: number,
): { readonly text: string; readonly index: number } | undefined {
  let index = -1;
  const texts: string[] = [];
  for (let at = end - 1; at >= from; at--) {
    const message = messages[at];
    if (message === undefined || !own.has(message.id) || message.synthetic !== null) continue;
    if (message.role === "TOOL" && texts.length > 0) break;
    if (message.role !== "ASSISTANT" || !hasWords(message)) continue;
    texts.unshift(delivered(message));
    index = at;
  }
  return texts.length === 0 ? undefined : { text: texts.join("\n\n"), index };
}

/** Templates demand that a user speaks first; what the window cut off from its question goes. */
function fromFirstUser(messages: readonly PackageMessage[]): readonly PackageMessage[] {
  const first = messages.findIndex(({ role }) => role === "USER");
  return messages.filter(({ role }, index) => index >= first || role === "SYSTEM");
}

function lastTurns(
  messages: readonly PackageMessage[],
  room: number,
): { readonly kept: readonly PackageMessage[]; readonly cutTurns: number } {
  const starts = messages.flatMap((message, index) =>
    startsTurn(messages[index - 1], message) ? [index] : [],
  );
  const lastUser = messages.findLastIndex(({ role }) => role === "USER");
  let from = messages.length;
  let chars = 0;
  let cutTurns = 0;
  for (const start of starts.reverse()) {
    const turn = messages.slice(start, from);
    chars += turn.reduce((sum, message) => sum + delivered(message).length, 0);
    if (from <= lastUser && chars > room) {
      cutTurns = starts.filter((one) => one <= start).length;
      break;
    }
    from = start;
  }
  return { kept: fromFirstUser(messages.slice(from)), cutTurns };
}

/** A turn starts where the turn id changes; without ids, at a user message after another role. */
function startsTurn(before: PackageMessage | undefined, message: PackageMessage): boolean {
  if (before === undefined) return true;
  if (message.turn_id !== null || before.turn_id !== null) {
    return message.turn_id !== before.turn_id;
  }
  return message.role === "USER" && before.role !== "USER";
}
