import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatListRow } from "../../api/openapi-types.ts";
import { groupsOf } from "./days.ts";

const now = new Date(2026, 2, 30, 0, 10).getTime();
const chat = (chat_id: string, last_active: string) =>
  ({ chat_id, last_active }) as unknown as ChatListRow;
const at = (...[year, month, day, hour = 12]: number[]) =>
  new Date(year!, month! - 1, day!, hour).toISOString();

for (const [name, last] of [
  ["Today", at(2026, 3, 30, 0)],
  ["Today", at(2026, 3, 31)],
  ["Yesterday", at(2026, 3, 29, 23)],
  ["Yesterday", at(2026, 3, 29, 0)],
  ["Previous 7 days", at(2026, 3, 28, 23)],
  ["Previous 7 days", at(2026, 3, 23, 0)],
  ["Previous 30 days", at(2026, 3, 22, 23)],
  ["Previous 30 days", at(2026, 2, 28)],
  ["February", at(2026, 2, 27, 23)],
  ["January", at(2026, 1, 1)],
  ["December 2025", at(2025, 12, 31)],
  ["Date unknown", ""],
] as const) {
  test(`just after midnight of 30 March, a chat of ${last || "no time"} is under ${name}`, () => {
    const groups = groupsOf([chat("a", last)], now);
    assert.deepEqual(
      groups.map((group) => group.name),
      [name],
    );
  });
}

test("a group holds its chats in the order in which they came, and no group is empty", () => {
  const rows = [
    chat("a", at(2026, 3, 30, 0)),
    chat("b", at(2026, 3, 29)),
    chat("c", at(2026, 3, 29)),
    chat("d", at(2024, 5, 1)),
  ];
  const shown = groupsOf(rows, now).map(({ name, chats }) => [name, chats.map((c) => c.chat_id)]);
  assert.deepEqual(shown, [
    ["Today", ["a"]],
    ["Yesterday", ["b", "c"]],
    ["May 2024", ["d"]],
  ]);
  assert.deepEqual(groupsOf([], now), []);
});
