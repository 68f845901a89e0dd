import type {
  Responder,
  ResponderEvent,
  ResponderRequest,
} from "../../src/core/models/responder.ts";

/** Everything that one answer yielded, and what it threw after that, if it did. */
export async function collectAnswer(
  responder: Responder,
  request: string | ResponderRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ events: readonly ResponderEvent[]; text: string; error: unknown }> {
  const asked =
    typeof request === "string"
      ? { instructions: "", messages: [{ role: "user" as const, content: request }] }
      : request;
  const events: ResponderEvent[] = [];
  let error: unknown;
  try {
    for await (const event of responder.respond(asked, signal)) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { events, text, error };
}
