import type { TestContext } from "node:test";

/** Until the test ends, what measures time finds a second more gone by since before this call. */
export function secondLater(t: TestContext): void {
  const { now } = performance;
  t.mock.method(performance, "now", () => now.call(performance) + 1_000);
}
