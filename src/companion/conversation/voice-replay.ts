import { checkArgument } from "../../core/options.ts";

interface ReplayMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/**
 * The conversation as a voice provider takes it again, after it ended its stream by itself (every
 * 5 to 8 minutes): that is no restart, so there is no greeting. The person comes first, roles
 * alternate (messages of one role in a row are one, a line each), and the person is not last unless
 * alone.
 *
 * Roles count in any case; other roles and blank texts are left out. How many messages there are is
 * the caller's to bound.
 *
 * @returns nothing when the person said nothing.
 */
export function voiceReplay(
  messages: readonly { readonly role: string; readonly text: string }[],
): readonly ReplayMessage[] {
  checkArgument(messages, "messages", ["a list", Array.isArray]);
  const merged: ReplayMessage[] = [];
  for (const { role, text } of messages) {
    const known = roles.find((each) => each === role.trim().toLowerCase());
    if (known === undefined || text.trim() === "") continue;
    const last = merged.at(-1);
    if (last?.role === known) merged.splice(-1, 1, { role: known, text: `${last.text}\n${text}` });
    else if (last !== undefined || known === "user") merged.push({ role: known, text });
  }
  if (merged.length > 1 && merged.at(-1)?.role === "user") merged.pop();
  return merged;
}

const roles = ["user", "assistant"] as const;
