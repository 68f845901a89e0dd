// A process that mirrors a session as the Claude Agent SDK does. Each number that it prints was answered
// before: that append is stored. It goes on until it is killed, but for 20 seconds at most.
import { ThroughlineSessionStore } from "../../src/adapters/claude-agent-sdk/session-store.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { foldSessionSummary } from "./claude-fold.ts";

const [, , home = "", from = "0"] = process.argv;
const endsAt = performance.now() + 20_000;
const throughline = await openThroughline({ home });
const store = new ThroughlineSessionStore(throughline, { foldSessionSummary });
for (let n = Number(from); performance.now() < endsAt; n++) {
  // Every fifth entry is too long for one record.
  const text = n % 5 === 4 ? "x".repeat(600_000) : "x";
  const entries = [
    { type: "user", uuid: `u${n}-a`, n, text },
    { type: "assistant", uuid: `u${n}-b`, n },
  ];
  await store.append({ projectKey: "p", sessionId: "s" }, entries);
  process.stdout.write(`${n}\n`);
}
process.exit();
