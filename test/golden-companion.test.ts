// "Homes of version 0.1 open unchanged": the companion. How it wakes, what it feels and whom it saw are
// what 0.1 itself found, and what it still owes to chats and to a voice model is kept.
import assert from "node:assert/strict";
import { test } from "node:test";
import { courseOf, emotionsIn, wakes } from "./support/golden-companion.ts";
import {
  assertHolds,
  assertOnlyAppended,
  copyOf,
  expected,
  filesIn,
  openAt,
  original,
} from "./support/golden-homes.ts";

const soon = "2026-03-04T09:52:23.400Z";
const afternoon = "2026-03-04T13:00:00.000Z";
const span = ["2026-03-04T09:00:00.000Z", "2026-03-04T09:55:00.000Z"] as const;

/** What the companion's document keeps beside its feelings. */
function documentIn(files: ReadonlyMap<string, Buffer>) {
  const { conversation, throughline: own } = JSON.parse(String(files.get("session/session.json")));
  const { deliveries, injections, conversation_chats } = own;
  return { conversation, conversation_chats, injections, told: deliveries.told };
}

for (const when of [soon, afternoon]) {
  test(`a companion of 0.1 wakes at ${when} as it would have`, async (t) => {
    const home = copyOf(t, "memories");
    const files = original("memories");
    const { course, ...listing } = expected("memories")[when].companion;
    const memories = await openAt(when, { home });
    t.after(() => memories.close());
    const emotions = emotionsIn(files);
    const woken = await wakes(memories, { emotions });
    assertHolds(woken.listing, listing);
    assertHolds(await courseOf(woken.companion, span), course);
    await memories.close();
    const logs = assertOnlyAppended(home, files);
    assert.ok(logs.includes("runs.jsonl") && logs.includes("moods.jsonl"));
    // Which chat was told of which restart, and what is still to be delivered, is written on.
    const [before, after] = [files, filesIn(home)].map(documentIn);
    assertHolds(after, before);
    assert.equal(before?.told["local:me"], 2);
  });
}

const atOnce = "2026-03-05T12:30:20.000Z";
const hoursLater = "2026-03-05T16:00:00.000Z";
const killedSpan = ["2026-03-05T12:00:00.000Z", "2026-03-05T12:40:00.000Z"] as const;

for (const when of [atOnce, hoursLater]) {
  test(`a companion whose process was killed under 0.1 wakes at ${when} as it would have`, async (t) => {
    const home = copyOf(t, "killed");
    const memories = await openAt(when, { home });
    t.after(() => memories.close());
    const { course, ...listing } = expected("killed")[when].companion;
    const woken = await wakes(memories);
    assertHolds(woken.listing, listing);
    assertHolds(await courseOf(woken.companion, killedSpan), course);
    await memories.close();
    assertOnlyAppended(home, original("killed"));
  });
}
