import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MemoryPlace, openMemoryProcess } from "../../../test/support/memory-place.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { historyView } from "../chat/history.ts";
import { shownRecords } from "../chat/marks.ts";
import { isMessage } from "../chat/message.ts";
import { openThroughline } from "../throughline.ts";
import { withVariants } from "./turn-log.ts";

// Method: one message, and any order of what can happen to the answers to it. The model knows which answer
// was chosen or made last; a page, a search, an export and the next prompt must each show that one alone.

const chat = "c";

type Kind = "retry" | "choose" | "takeBack" | "erase" | "crash";
const often = (kind: Kind, weight: number) => ({ weight, arbitrary: fc.constant(kind) });
const other = [often("takeBack", 1), often("erase", 1), often("crash", 1)];
const kind = fc.oneof(often("retry", 3), often("choose", 5), ...other);
// A crash cuts a retry off before its answer is stored; `which` answer the others are about.
const step = fc.record({ kind, which: fc.nat(9) });

async function opened(place: MemoryPlace, made: number) {
  const script = Array.from({ length: 40 }, (_, n) => [`answer${made + n}`]);
  const model = scriptedResponder(script);
  const storage = openMemoryProcess({ place });
  const throughline = await openThroughline({ storage, provider: "scripted", model: "script-1" });
  const turns = await throughline.turns({ model, persona: "", maxQueued: 4 });
  return { ...throughline, turns };
}

test("of the answers to a message exactly one is shown: the last that was chosen or made", async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 12 });
  // In every run: another answer is made while an older one is shown.
  const again = (["retry", "choose", "retry"] as const).map((kind) => ({ kind, which: 0 }));
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const place = new MemoryPlace();
      let c = await opened(place, 0);
      let made = 1;
      const first = await c.turns.submit(chat, { content: "Hello", id: "t" }).done;
      /** By id what each answer says; `undefined`: it is gone. */
      const answers = new Map([[first.assistant?.id ?? "", first.assistant?.content]]);
      let expected = first.assistant?.id;
      for (const each of all) {
        const ids = [...answers.keys()];
        const id = ids[each.which % ids.length] ?? "";
        if (each.kind === "retry") {
          const { assistant } = await (await c.turns.retry(chat)).done;
          made++;
          answers.set(assistant?.id ?? "", assistant?.content);
          expected = assistant?.id;
        } else if (each.kind === "crash") {
          const step = { role: "assistant", content: "half", turn: "t" } as const;
          await c.chats.append(chat, [{ ...step, id: `t:call:cut${made}:1` }]);
          await c.close();
          c = await opened(place, made);
        } else if (each.kind === "choose") {
          const isThere = answers.get(id) !== undefined;
          const chosen = c.turns.choose(chat, id);
          if (!isThere) await assert.rejects(chosen);
          else expected = (await chosen).id;
        } else if (answers.get(id) !== undefined) {
          if (each.kind === "erase") await c.chats.erase(chat, id);
          else await c.chats.takeBack(chat, [id]);
          answers.set(id, undefined);
          if (expected === id) expected = undefined;
        }
        await check(c, answers, expected);
      }
      await c.close();
    }),
    { numRuns: process.env["THROUGHLINE_FULL"] === "1" ? 150 : 25, examples: [[again]] },
  );
});

async function check(
  { chats }: Awaited<ReturnType<typeof opened>>,
  answers: ReadonlyMap<string, string | undefined>,
  expected: string | undefined,
): Promise<void> {
  const left = [...answers].filter(([, content]) => content !== undefined).map(([id]) => id);
  const wanted = expected === undefined ? [] : [expected];
  const page = (await chats.messages(chat)).messages;
  const shown = page.filter(
    ({ role, hidden, redacted }) => role !== "user" && !hidden && !redacted,
  );
  const ids = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);
  assert.deepEqual(ids(shown), wanted, "a page");
  const told = (await withVariants(chats, chat, page)).flatMap(({ variants = [] }) => variants);
  assert.deepEqual(told, expected !== undefined && left.length > 1 ? left : [], "the variants");
  const found: string[] = [];
  for (const word of answers.values()) {
    if (word === undefined) continue;
    found.push(...(await chats.search(word)).map(({ message }) => message.id));
  }
  assert.deepEqual(found, wanted, "a search");
  const records = await Array.fromAsync(chats.records(chat));
  const kept = (await Array.fromAsync(await shownRecords(chats.logs, chat))).filter(
    (record) => isMessage(record) && record.role !== "user" && !record.hidden,
  );
  assert.deepEqual(ids(kept), wanted, "an export");
  const { messages } = historyView(records, { provider: "scripted", model: "script-1" });
  const asked = messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  const words = wanted.map((id) => answers.get(id));
  assert.deepEqual(asked, words, "the next prompt");
}
