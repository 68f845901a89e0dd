import { errorName } from "../errors.ts";
import type { Logger } from "../logger.ts";

/** Where facts to remember come from: a file, a vector memory, a service. */
export interface MemoryProvider {
  /**
   * Facts for the start of a conversation, one a line, the most important first; "" when there are
   * none. Asked for at each start: 4,000 characters are used at most. What it returns is data: the
   * welcome quotes it, line by line.
   */
  startupContext(): Promise<string>;
}

/** The provider's facts, or "" when it fails, which is logged: no welcome fails with its memory. */
export async function startupMemory(provider: MemoryProvider, logger: Logger): Promise<string> {
  try {
    const facts: unknown = await provider.startupContext();
    if (typeof facts === "string") return facts;
    logger.warn({ type: typeof facts }, "the memory provider gave no text");
  } catch (error) {
    logger.warn({ error: errorName(error) }, "the memory provider failed");
  }
  return "";
}
