import assert from "node:assert/strict";
import { test } from "node:test";
import { messageRecord } from "./message-input.ts";

const record = (timestamp: string) =>
  messageRecord({ role: "user", content: "x", timestamp }, () => "id", "");

for (const stamp of [
  "2026-02-30T00:00:00Z",
  "2025-02-29T12:00:00+01:00",
  "2026-04-31T00:00Z",
  "2026-01-01T24:00:00Z",
  "9999-12-31T23:59:59-23:00",
  "0000-01-01T00:00:00+01:00",
  "2026-01-01 00:00:00Z",
  "2026-01-01T00:00:00",
]) {
  test(`a message said at ${stamp} is refused`, () => {
    const refused = {
      code: "THROUGHLINE_INVALID",
      message: "message.timestamp must be ISO 8601 with a zone",
    };
    assert.throws(() => record(stamp), refused);
  });
}

for (const [stamp, stored] of [
  ["2028-02-29T23:59:59.123456789-02:30", "2028-03-01T02:29:59.123Z"],
  ["2026-01-01T00:00Z", "2026-01-01T00:00:00.000Z"],
  ["2026-01-01T00:00:00+0100", "2025-12-31T23:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
] as const) {
  test(`a message said at ${stamp} is stored as said at ${stored}`, () => {
    assert.equal(record(stamp).timestamp, stored);
  });
}

const at = "2026-03-01T12:00:00.000Z";

test("marks that only we set go inside extra, so that no message passes for one that is hidden", () => {
  const given = { role: "user", content: "x", redacted: true, replaced: "yes", kind: "clear" };
  const { redacted, replaced, kind, extra } = messageRecord(given, () => "id", at);
  assert.deepEqual([redacted, replaced, kind], [undefined, undefined, undefined]);
  assert.deepEqual(extra, { redacted: true, replaced: "yes", kind: "clear" });
});

test("attachments that are no objects are refused", () => {
  for (const attachments of [[1], [null], ["a.png"], [[]], {}]) {
    const given = { role: "user", content: "x", attachments };
    const refused = { message: "message.attachments has a wrong type" };
    assert.throws(() => messageRecord(given, () => "id", at), refused);
  }
});
