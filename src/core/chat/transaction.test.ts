import assert from "node:assert/strict";
import { test } from "node:test";
import { randomId } from "../ids.ts";
import { Transaction } from "./transaction.ts";

const begin = () =>
  new Transaction(
    "local:me",
    { seq: 0, head: undefined, damaged: false },
    { now: 0, newId: randomId },
  );

test("an append has new ids only as long as no record came with an id of its own", () => {
  const words = { role: "user", content: "Hello" };
  const made = begin();
  made.message(words);
  made.message({ ...words, id: undefined });
  made.control("clear", {});
  assert.equal(made.hasNewIds, true);
  const withMessage = begin();
  withMessage.message({ ...words, id: "m1" });
  assert.equal(withMessage.hasNewIds, false);
  const withControl = begin();
  withControl.control("removal", { target: "m1" }, "removal:m1");
  withControl.message(words);
  assert.equal(withControl.hasNewIds, false);
});
