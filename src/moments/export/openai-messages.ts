import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { PackageMessage } from "../package/record.ts";
import { delivered, type JudgedTurn } from "./judged-turn.ts";

const plainRoles = { SYSTEM: "system", USER: "user", ASSISTANT: "assistant" } as const;

/**
 * The prompt as OpenAI's chat format has it: a tool's result follows the call that asked for it, and
 * a call of which a result is missing is left out, because the service refuses both halves alone.
 */
export function openaiMessages({ system, before }: JudgedTurn): readonly JsonObject[] {
  const out: JsonObject[] =
    system === undefined || system.trim() === "" ? [] : [{ role: "system", content: system }];
  for (const [index, message] of before.entries()) {
    if (message.role === "TOOL") continue; // taken with its call
    const content = delivered(message);
    const pair = message.role === "ASSISTANT" ? answeredCalls(before, index) : undefined;
    if (pair !== undefined) {
      out.push({ role: "assistant", content: content === "" ? null : content, ...pair.calls });
      out.push(...pair.results);
    } else if (content.trim() !== "") {
      push(out, plainRoles[message.role], content);
    }
  }
  // What the answer itself said before a call that is left out: it cannot end a prompt.
  while (out.at(-1)?.["role"] === "assistant") out.pop();
  return out;
}

function push(out: JsonObject[], role: string, content: string): void {
  const last = out.at(-1);
  const isNeighbour = last?.["role"] === role && last["tool_calls"] === undefined;
  if (isNeighbour) out[out.length - 1] = { role, content: `${last["content"]}\n\n${content}` };
  else out.push({ role, content });
}

/** The calls of one message and their results, if each call has one right behind it. */
function answeredCalls(messages: readonly PackageMessage[], index: number) {
  const asked = messages[index]?.tool_calls;
  const calls = Array.isArray(asked) ? asked.map(openaiCall) : [];
  if (calls.length === 0) return undefined;
  const results = new Map<string, JsonObject>();
  for (const message of messages.slice(index + 1)) {
    if (message.role !== "TOOL") break;
    const { tool_call_id, text } = message;
    if (tool_call_id === null) continue;
    results.set(tool_call_id, { role: "tool", tool_call_id, content: text });
  }
  const ordered = calls.map((call) => (call === undefined ? undefined : results.get(call.id)));
  const whole = ordered.filter((result) => result !== undefined);
  if (whole.length < calls.length || new Set(whole).size < calls.length) return undefined;
  return { calls: { tool_calls: calls.filter((call) => call !== undefined) }, results: whole };
}

/** A call in the form of the chats' log, which is OpenAI's, or flat: `{id, name, arguments}`. */
function openaiCall(call: Json) {
  if (!isJsonObject(call) || typeof call["id"] !== "string") return undefined;
  const body = isJsonObject(call["function"]) ? call["function"] : call;
  const { name, arguments: given } = body;
  if (typeof name !== "string") return undefined;
  const text = typeof given === "string" ? given : JSON.stringify(given ?? {});
  return { id: call["id"], type: "function", function: { name, arguments: text } } as const;
}

/** Tools in OpenAI's form, from that form or a flat one; what is neither is left out. */
export function openaiTools(tools: Json | undefined): readonly JsonObject[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: Json) => {
    if (!isJsonObject(tool)) return [];
    if (isJsonObject(tool["function"]) && typeof tool["function"]["name"] === "string") {
      return [{ type: "function", function: tool["function"] }];
    }
    const { name, description } = tool;
    if (typeof name !== "string") return [];
    const parameters = tool["parameters"] ?? tool["inputSchema"] ?? tool["input_schema"];
    const about = typeof description === "string" ? description : undefined;
    return [
      {
        type: "function",
        function: { name, description: about, parameters: parameters || undefined },
      },
    ];
  });
}
