import { pageRecords } from "../chat/history.ts";
import type { ModelInput } from "../chat/message.ts";
import { estimateTokens, historyBudget, messageTokens } from "../chat/model-row.ts";
import { bucketOf } from "../chat/period.ts";
import type { Resolution, Target } from "../chat/provider-sessions.ts";
import { Transaction } from "../chat/transaction.ts";
import type { ResponderRequest, TurnTool, TurnTools } from "../models/responder.ts";
import { modelFor, readAsked, requestOf } from "./ask.ts";
import { beginTurn } from "./records.ts";
import { Turn } from "./turn.ts";
import type { TurnsRuntime } from "./turns-options.ts";

/** A part of a prompt, with the estimate of its tokens. */
export type PromptSection =
  | {
      /**
       * `facts` is what extensions add behind the persona. `context` is what changes from turn to turn.
       * `message` is the newest message, with those before it that nothing has answered.
       */
      readonly name: "persona" | "facts" | "tools" | "context" | "message";
      readonly tokens: number;
      readonly text: string;
    }
  | {
      readonly name: "history";
      readonly tokens: number;
      readonly messages: readonly (ModelInput & { readonly tokens: number })[];
    };

interface ShownTools {
  readonly instructions: string;
  readonly tools: readonly Pick<TurnTool, "name" | "description" | "parameters">[];
}

/** What a model will get with the next message of a chat. */
export interface NextPrompt {
  readonly provider: string;
  readonly model: string;
  /** In tokens; `undefined`: unknown. */
  readonly window: number | undefined;
  /** What the model's `Responder` is asked with. Each block of context has a new random mark. */
  readonly request: Pick<ResponderRequest, "instructions" | "messages" | "context"> & {
    /** What the model may do beside speaking, if it takes tools. */
    readonly tools: ShownTools | undefined;
  };
  /** The same in parts, in the order in which the model gets them. Empty parts are left out. */
  readonly sections: readonly PromptSection[];
  /** The estimates of all sections together. */
  readonly tokens: number;
  /** How many tokens the history and the message may take. */
  readonly historyTokens: number;
  /** What the provider itself counted for the last prompt, if it did. */
  readonly reportedTokens: number | undefined;
  /** The provider continues its own session: it has the history, and is sent what is new. */
  readonly resumes: boolean;
  /** What the next message ends, so that the history begins again with it: see `Resolution`. */
  readonly ends: Resolution["ended"];
  readonly reason: Resolution["reason"];
}

export interface NextPromptInput extends Target {
  /** What will be said. Without it, or if it is blank, the prompt has no newest message. */
  readonly content?: string | undefined;
}

/** See `Turns.nextPrompt`. */
export async function nextPrompt(
  ports: TurnsRuntime,
  chatId: string,
  { content: given = "", ...asked }: NextPromptInput,
): Promise<NextPrompt> {
  const content = given.trim() === "" ? undefined : given;
  const { chats, extensions } = ports;
  const { target, responder, notice } = await modelFor(ports, chatId, asked);
  const id = ports.newId();
  const turn = new Turn({ chatId, id, content: content ?? "…", isFresh: true });
  const state = await chats.state(chatId);
  // What the turn would begin with: it is never stored.
  const made = new Transaction(chatId, state, ports);
  const begun = await beginTurn(ports, made, turn, target);
  const { head } = made;
  const said = made.records.filter((record) => content !== undefined || record.id !== id);
  const newest = { before: state.seq + 1, limit: pageRecords, isShared: true };
  const records = [...(await chats.logs.page(chatId, newest)), ...said];
  const tools = shown(ports.tools?.(turn, responder));
  const history = await readAsked({ chatId, log: chats.logs, head, records, responder, begun });
  const part = await extensions.preview(chatId);
  const persona = await ports.persona();
  // A period that ends takes its working memory along.
  const isOver = begun.resolution.ended === "period";
  const workingMemory = isOver ? { peek: () => undefined } : ports.workingMemory;
  turn.tell(notice);
  turn.tell(begun.notice);
  const running = { ...ports, workingMemory, turn, persona, begun, part };
  const { request } = await requestOf(running, responder, history);
  const { instructions, context } = request;
  // A small window gets the newest message alone, and there is none yet.
  const isEmpty = content === undefined && history.isSmall;
  const messages = isEmpty ? [] : request.messages;
  const last = messages.at(-1)?.role === "user" ? messages.at(-1) : undefined;
  const earlier = last === undefined ? messages : messages.slice(0, -1);
  const counted = earlier.map((each) => ({ ...withoutFileBytes(each), tokens: tokensOf(each) }));
  const told = counted.reduce((sum, each) => sum + each.tokens, 0);
  const sections = [
    textSection("persona", persona),
    textSection("facts", part.instructions),
    textSection("tools", toolsText(tools)),
    counted.length === 0 ? [] : [{ name: "history", tokens: told, messages: counted } as const],
    textSection("context", context ?? ""),
    textSection("message", last?.content ?? "", last && tokensOf(last)),
  ].flat();
  const { provider, model, window } = responder;
  const reported = head.reported?.[provider];
  return {
    provider,
    model,
    window,
    request: { instructions, context, messages: messages.map(withoutFileBytes), tools },
    sections,
    tokens: sections.reduce((sum, { tokens }) => sum + tokens, 0),
    historyTokens: historyBudget(window, undefined),
    reportedTokens: reported?.model === model ? reported.tokens : undefined,
    resumes: bucketOf(begun.period, provider).session_id !== "",
    ends: begun.resolution.ended,
    reason: begun.resolution.reason,
  };
}

function shown(tools: TurnTools | undefined): ShownTools | undefined {
  return (
    tools && {
      instructions: tools.instructions,
      tools: tools.tools.map(({ name, description, parameters }) => {
        return { name, description, parameters };
      }),
    }
  );
}

function textSection(
  name: Exclude<PromptSection["name"], "history">,
  text: string,
  tokens = estimateTokens(Buffer.byteLength(text)),
): readonly PromptSection[] {
  return text === "" ? [] : [{ name, tokens, text }];
}

/** Estimates a message, without the files that are named or quoted in its text. */
function tokensOf(message: ModelInput): number {
  if (message.role !== "user" || message.files === undefined) return messageTokens(message);
  const files = message.files.filter(({ bytes }) => bytes !== undefined);
  return messageTokens({ ...message, files });
}

/** As it is shown: which files there are, and not megabytes of them. */
function withoutFileBytes(message: ModelInput): ModelInput {
  if (message.role !== "user" || message.files === undefined) return message;
  return { ...message, files: message.files.map(({ bytes: _, ...file }) => file) };
}

/** What is told about the tools, then each as JSON. Providers have forms of their own for it. */
function toolsText(tools: ShownTools | undefined): string {
  if (tools === undefined) return "";
  const each = tools.tools.map((tool) => JSON.stringify(tool));
  return [tools.instructions, ...each].filter((text) => text !== "").join("\n\n");
}
