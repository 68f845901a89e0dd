import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { chatAddress, messageAddress, messageOf, routeOf } from "./routes.ts";

for (const [path, route] of [
  ["/", { view: "talk", chatId: "local:me" }],
  ["/chats", { view: "chats" }],
  ["/chats/", { view: "chats" }],
  ["/chats/telegram%3A42", { view: "chat", chatId: "telegram:42" }],
  ["/chats/a%2Fb%3F", { view: "chat", chatId: "a/b?" }],
  ["/chats/a/b", { view: "none" }],
  ["/chats/%zz", { view: "none" }],
  ["/mood", { view: "mood" }],
  ["/mood/x", { view: "none" }],
  ["/waking", { view: "waking" }],
  ["/sessions", { view: "sessions" }],
  ["/memory", { view: "memory" }],
  ["/moments", { view: "moments" }],
  ["/moments/x", { view: "none" }],
  ["/toString", { view: "none" }],
] as const) {
  test(`${path} shows ${JSON.stringify(route)}`, () => assert.deepEqual(routeOf(path), route));
}

test("the address of a chat leads to it, whatever its id holds", () => {
  const id = fc.string({ unit: "grapheme", minLength: 1 });
  fc.assert(
    fc.property(id, (chatId) => {
      const route = routeOf(chatAddress(chatId));
      assert.equal(route.view === "talk" || route.view === "chat" ? route.chatId : "", chatId);
    }),
  );
});

test("the address of a message leads to it in its chat, whatever its id holds", () => {
  const id = fc.string({ unit: "grapheme", minLength: 1 });
  fc.assert(
    fc.property(id, id, fc.integer({ min: 1 }), (chatId, messageId, seq) => {
      const [path = "", query] = messageAddress(chatId, { id: messageId, seq }).split("?");
      assert.equal(path, chatAddress(chatId));
      assert.deepEqual(messageOf(new URLSearchParams(query)), { id: messageId, seq });
    }),
  );
});

for (const query of ["", "q=tea", "message=m1", "seq=1", "message=&seq=1", "message=m1&seq=x"]) {
  test(`an address with “${query}” opens a chat at no message`, () => {
    assert.equal(messageOf(new URLSearchParams(query)), undefined);
  });
}
