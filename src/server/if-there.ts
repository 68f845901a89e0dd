import { isThroughlineError } from "../core/errors.ts";

/** What `if_exists=true` answers where there is no such chat. */
export const noSuchChat = { says: "There is no such chat, and `if_exists` is `true`." } as const;

/** Answers 204 in place of 404, for a client that asks whether a chat was begun. */
export async function ifThere(
  ifExists: "true" | "false" | undefined,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    const isMissing = isThroughlineError(error, "THROUGHLINE_NOT_FOUND");
    if (ifExists !== "true" || !isMissing) throw error;
    return new Response(null, { status: 204 });
  }
}
