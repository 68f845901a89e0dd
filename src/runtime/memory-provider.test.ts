import assert from "node:assert/strict";
import { test } from "node:test";
import { type Logger, silentLogger } from "../logger.ts";
import { type MemoryProvider, startupMemory } from "./memory-provider.ts";

// R5: what fails here costs the welcome its memory part, never the rest.
const rows: readonly [says: string, provider: MemoryProvider, facts: string, logged: object[]][] = [
  ["has facts", { startupContext: async () => "Likes tea." }, "Likes tea.", []],
  [
    "rejects",
    { startupContext: () => Promise.reject(new RangeError("Likes tea.")) },
    "",
    [{ error: "RangeError" }],
  ],
  [
    "throws",
    {
      startupContext: () => {
        throw new TypeError("Likes tea.");
      },
    },
    "",
    [{ error: "TypeError" }],
  ],
  [
    "gives a number",
    { startupContext: async () => 42 as unknown as string },
    "",
    [{ type: "number" }],
  ],
];
for (const [says, provider, facts, logged] of rows) {
  test(`of a provider that ${says}, ${JSON.stringify(facts)} is remembered, ${logged.length} lines logged`, async () => {
    const lines: object[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => lines.push(fields) };
    assert.equal(await startupMemory(provider, logger), facts);
    assert.deepEqual(lines, logged);
  });
}
