// What a session of the OpenAI Agents SDK does, whichever it is: the SDK's own is held to the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemorySession } from "@openai/agents";
import { randomText } from "../../../test/support/random-text.ts";
import { openThroughline } from "../../core/throughline.ts";
import { ThroughlineSession } from "./session.ts";

const user = (text: string, more: object = {}) => ({
  role: "user" as const,
  content: [{ type: "input_text" as const, text }],
  ...more,
});

const call = (text: string, id?: string) => ({
  type: "function_call" as const,
  id,
  callId: "call-1",
  name: "lookup",
  status: "completed" as const,
  arguments: text,
});

const append = (operationId: string, items: unknown) => ({
  operationId,
  transaction: { type: "append_items", items } as never,
});

const replace = (operationId: string, expectedSuffix: unknown, replacement: unknown) => ({
  operationId,
  transaction: { type: "replace_suffix", expectedSuffix, replacement } as never,
});

const refusal = "Session history transaction items contain invalid or unsupported data.";

const kinds = {
  ThroughlineSession: async () => {
    const throughline = await openThroughline({ storage: "memory" });
    return new ThroughlineSession(throughline, "s-1");
  },
  MemorySession: async () => new MemorySession({ sessionId: "s-1" }),
};

for (const [kind, open] of Object.entries(kinds)) {
  const says = (title: string, proof: (session: ThroughlineSession) => Promise<void>) =>
    void test(`${kind}: ${title}`, async () => proof((await open()) as never));

  says("items come back in order, the newest of them for a limit, and are popped", async (s) => {
    assert.equal(await s.getSessionId(), "s-1");
    assert.deepEqual(await s.getItems(), []);
    assert.equal(await s.popItem(), undefined);
    await s.addItems([user("one")]);
    await s.addItems([user("two"), user("three")]);
    await s.addItems([]);
    assert.deepEqual(await s.getItems(), [user("one"), user("two"), user("three")]);
    assert.deepEqual(await s.getItems(2), [user("two"), user("three")]);
    assert.deepEqual([await s.getItems(0), await s.getItems(-1)], [[], []]);
    assert.deepEqual(await s.popItem(), user("three"));
    assert.deepEqual(await s.getItems(9), [user("one"), user("two")]);
    await s.clearSession();
    assert.deepEqual([await s.getItems(), await s.getItems(3)], [[], []]);
    assert.equal(await s.popItem(), undefined);
    await s.addItems([user("three")]);
    assert.deepEqual(await s.getItems(), [user("three")]);
  });

  says("items are copied on the way in and on the way out", async (s) => {
    const given = user("one");
    const adding = s.addItems([given]);
    given.content.pop();
    await adding;
    const [got] = await s.getItems();
    got.content = "changed";
    assert.deepEqual(await s.getItems(), [user("one")]);
    const popped = await s.popItem();
    assert.deepEqual(popped, user("one"));
    assert.deepEqual(await s.getItems(), []);
  });

  says("a call is replaced in its place, and a second one of its id goes", async (s) => {
    const result = {
      type: "function_call_result",
      name: "lookup",
      callId: "call-1",
      status: "completed",
      output: { type: "text", text: "yes" },
    };
    await s.addItems([user("one"), call("{}", "a"), call("[]", "b"), result, user("two")]);
    const replacement = call('{"ok":true}', "c");
    const mutation = { type: "replace_function_call" as const, callId: "call-1", replacement };
    await s.applyHistoryMutations({ mutations: [mutation] });
    assert.deepEqual(await s.getItems(), [user("one"), replacement, result, user("two")]);
    await s.applyHistoryMutations({ mutations: [] });
    await s.applyHistoryMutations({ mutations: [{ ...mutation, callId: "none" }] });
    assert.deepEqual(await s.getItems(), [user("one"), replacement, result, user("two")]);
  });

  says("a transaction is applied once, whatever came since", async (s) => {
    await s.addItems([user("start"), user("blocked")]);
    const item = user("added");
    await s.applyHistoryTransaction(append("op-1", [item]));
    item.content.pop();
    await s.addItems([user("later")]);
    await s.applyHistoryTransaction(append("op-1", [user("added")]));
    await s.applyHistoryTransaction(replace("op-2", [user("added"), user("later")], [user("new")]));
    await s.addItems([user("last")]);
    await s.applyHistoryTransaction(replace("op-2", [user("added"), user("later")], [user("new")]));
    const texts = ["start", "blocked", "new", "last"].map((text) => user(text));
    assert.deepEqual(await s.getItems(), texts);
    await assert.rejects(
      s.applyHistoryTransaction(append("op-1", [user("other")])),
      /already applied with a different transaction/,
    );
    assert.deepEqual(await s.getItems(), texts);
  });

  says("an end that differs is no end to replace, and leaves its id free", async (s) => {
    await s.addItems([user("start")]);
    for (const suffix of [[user("other")], [user("before"), user("start")]]) {
      await assert.rejects(
        s.applyHistoryTransaction(replace("op", suffix, [user("new")])),
        /suffix no longer matches/,
      );
    }
    assert.deepEqual(await s.getItems(), [user("start")]);
    await s.applyHistoryTransaction(replace("op", [user("start")], [user("new")]));
    await s.applyHistoryTransaction(replace("op-2", [], [user("newer")]));
    assert.deepEqual(await s.getItems(), [user("new"), user("newer")]);
  });

  says("a transaction without items is applied too, and a clear forgets it", async (s) => {
    await s.applyHistoryTransaction(append("op", []));
    await assert.rejects(s.applyHistoryTransaction(append("op", [user("one")])), /already applied/);
    assert.deepEqual(await s.getItems(), []);
    await s.clearSession();
    await s.applyHistoryTransaction(append("op", [user("one")]));
    assert.deepEqual(await s.getItems(), [user("one")]);
  });

  const op = (transaction?: object) => ({ operationId: "op", transaction });
  const unreadable = {
    get operationId() {
      throw new Error("secret");
    },
  };
  const less = { type: "replace_suffix", replacement: [] };
  const wrong: readonly (readonly [what: string, args: unknown, message: RegExp])[] = [
    ["no arguments", undefined, /^Session history transaction arguments are invalid\.$/],
    ["an id that throws", unreadable, /^Session history transaction arguments are invalid\.$/],
    ["a blank id", append(" ", []), /operationId must be a non-empty string/],
    ["no transaction", { operationId: "op" }, /transaction must be an object/],
    ["an unknown type", op({ type: "other" }), /Unsupported session history transaction type/],
    [
      "more to append",
      op({ type: "append_items", items: [], more: 1 }),
      /append transaction field/,
    ],
    ["less to replace", op(less), /suffix transaction fields are invalid/],
    ["no list", append("op", { 0: user("one"), length: 1 }), /append transaction fields are inval/],
  ];
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const bad: Readonly<Record<string, unknown>> = {
    "a Date": { at: new Date(0) },
    "a cycle": cycle,
    "a BigInt": { n: 1n },
    "a symbol": { secret: Symbol("secret") },
    "a function": { run: () => 1 },
    "another typed array": { n: new Uint16Array([300]) },
    "an instance of a class": { url: new URL("https://x.example") },
  };
  const unsupported = Object.entries(bad).map(([what, providerData]) => {
    return [what, append("op", [user("x", { providerData })]), refusal] as const;
  });
  for (const [what, args, message] of [
    ...wrong,
    ["a number", append("op", [42]), refusal],
    ["a sparse list", append("op", new Array(1)), refusal],
    ...unsupported,
  ] as const) {
    says(`${what} is refused before anything changes`, async (s) => {
      await s.addItems([user("start")]);
      await assert.rejects(s.applyHistoryTransaction(args as never), { message });
      assert.deepEqual(await s.getItems(), [user("start")]);
      await s.applyHistoryTransaction(append("op", [user("one")]));
      assert.deepEqual(await s.getItems(), [user("start"), user("one")]);
    });
  }

  says("bytes come back as bytes, also those that others share", async (s) => {
    const bytes = new Uint8Array(new SharedArrayBuffer(2));
    bytes.set([3, 7]);
    await s.applyHistoryTransaction(append("op", [user("x", { providerData: { bytes } })]));
    bytes[0] = 9;
    const again = user("x", { providerData: { bytes: new Uint8Array([3, 7]) } });
    await s.applyHistoryTransaction(append("op", [again]));
    assert.deepEqual(await s.getItems(), [again]);
    await s.addItems([again, user("y", { providerData: { n: -0, none: [undefined, null] } })]);
    const items = await s.getItems();
    assert.deepEqual(items[1], again);
    assert.ok(Object.is(items[2].providerData.n, -0));
    assert.deepEqual(items[2].providerData.none, [undefined, null]);
  });

  says("calls at once count one after the other", async (s) => {
    await s.addItems([user("one"), user("two"), user("three")]);
    const popped = await Promise.all([s.popItem(), s.popItem()]);
    assert.deepEqual(popped, [user("three"), user("two")]);
    const apply = () => s.applyHistoryTransaction(append("op", [user("once")]));
    await Promise.all([apply(), apply(), apply()]);
    assert.deepEqual(await s.getItems(), [user("one"), user("once")]);
  });
}

for (const kind of ["append_items", "replace_suffix"] as const) {
  test(`a long item whose chat is forgotten while it is stored is refused whole: ${kind}`, async () => {
    const throughline = await openThroughline({ storage: "memory" });
    const { chats } = throughline;
    const session = new ThroughlineSession(throughline, "s-1");
    await session.addItems([user("one")]);
    const content = [{ type: "input_text", text: randomText(300_000) }];
    const long = { type: "reasoning", content };
    const { change } = chats;
    let changes = 0;
    chats.change = async (...given) => {
      // First come the parts, then the item.
      if (++changes === 2) await chats.forget("s-1");
      return change.apply(chats, given) as never;
    };
    const args = kind === "append_items" ? append("1", [long]) : replace("1", [], [long]);
    await assert.rejects(session.applyHistoryTransaction(args), { code: "THROUGHLINE_NOT_FOUND" });
    assert.equal(changes, 2);
    assert.deepEqual([await session.getItems(), await chats.list()], [[], { chats: [] }]);
  });
}
