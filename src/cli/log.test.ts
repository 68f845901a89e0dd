import assert from "node:assert/strict";
import { test } from "node:test";
import { openLog } from "./log.ts";
import type { LogLevel } from "./settings-table.ts";

function logged(level: LogLevel | undefined, standard: LogLevel, fields: object) {
  const lines: string[] = [];
  const log = openLog(level, standard, { write: (line) => void lines.push(line) });
  log.debug(fields, "d");
  log.info(fields, "i");
  log.warn(fields, "w");
  log.error(fields, "e");
  return lines.map((line) => JSON.parse(line));
}

test("LOG_LEVEL goes before a command's own level", () => {
  for (const [level, standard, messages] of [
    [undefined, "info", "iwe"],
    [undefined, "error", "e"],
    ["debug", "error", "diwe"],
    ["silent", "info", ""],
  ] as const) {
    const told = logged(level, standard, {}).map(({ msg }) => msg);
    assert.equal(told.join(""), messages);
  }
});

test("a field that is named as a secret, at the top or one level down, is not written", () => {
  const secret = { token: "s3cret", headers: { authorization: "s3cret", cookie: "s3cret" } };
  const [line] = logged(undefined, "error", { ...secret, apiKey: "s3cret", turn: "t1" });
  assert.ok(!JSON.stringify(line).includes("s3cret"));
  assert.equal(line.turn, "t1");
});

test("a line that cannot be written stops nothing", () => {
  const write = () => {
    throw new Error("EMFILE: too many open files");
  };
  openLog("warn", "warn", { write }).error({ id: 1 }, "a defect");
});
