import assert from "node:assert/strict";
import { test } from "node:test";
import { isDebugging, readEnvironment } from "./env.ts";
import { modelVariables, settings, settingsIn } from "./settings-table.ts";

const read = (variables: Record<string, string>) => readEnvironment(variables, "/users/me");
const saidIn = (object: object) =>
  Object.entries(object).filter(([, value]) => value !== undefined);

test("a variable is read as its setting, and says nothing when it is blank", () => {
  for (const [name, variable] of settingsIn("env")) {
    const word = settings[name].read === undefined ? "said" : undefined;
    if (word !== undefined) assert.equal(read({ [variable]: ` ${word} ` })[name], word);
    assert.equal(read({ [variable]: "  " })[name], undefined, variable);
  }
  for (const [name, variable] of Object.entries(modelVariables)) {
    assert.deepEqual(saidIn(read({ [variable]: " said " }).models), [[name, "said"]]);
  }
  assert.equal(read({ XDG_DATA_HOME: "/x" }).xdgDataHome, "/x");
  const { models, ...env } = read({});
  assert.deepEqual([saidIn(models), saidIn(env)], [[], [["userHome", "/users/me"]]]);
});

test("AWS_REGION goes before AWS_DEFAULT_REGION", () => {
  const AWS_DEFAULT_REGION = "b";
  assert.equal(read({ AWS_DEFAULT_REGION }).models.awsRegion, "b");
  assert.equal(read({ AWS_DEFAULT_REGION, AWS_REGION: "a" }).models.awsRegion, "a");
});

const code = "THROUGHLINE_CONFIGURATION";

test("PORT is a port; another text is refused with the name of the variable", () => {
  for (const [text, port] of [
    ["0", 0],
    ["7423", 7423],
    ["65535", 65_535],
    ["", undefined],
  ] as const) {
    assert.equal(read({ PORT: text }).port, port);
  }
  for (const PORT of ["65536", "-1", "80a", "1e3", "0x50", "8.0", "999999"]) {
    assert.throws(() => read({ PORT }), { code, message: /^PORT / }, PORT);
  }
});

test("a switch is on or off by several words; another is refused with the name of the variable", () => {
  for (const [name, setting] of [
    ["FEEDBACK_AUTO_RECORD", "autoRecord"],
    ["THROUGHLINE_S3_CREATE_BUCKET", "createBucket"],
  ] as const) {
    const switched = (word: string) => read({ [name]: word })[setting];
    for (const word of ["1", "true", "Yes", "ON", " 1 "]) assert.equal(switched(word), true, word);
    for (const word of ["0", "false", "No", "OFF"]) assert.equal(switched(word), false, word);
    for (const word of ["2", "ja", "truee", "01", "null"]) {
      assert.throws(() => switched(word), { code, message: `${name} must be true or false` });
    }
  }
});

test("LOG_LEVEL is one of pino's levels, in any case; debug and trace tell where errors happened", () => {
  assert.equal(read({ LOG_LEVEL: "DEBUG" }).logLevel, "debug");
  assert.throws(() => read({ LOG_LEVEL: "loud" }), { code, message: /^LOG_LEVEL / });
  for (const [level, expected] of [
    ["debug", true],
    [" Trace ", true],
    ["info", false],
    ["debugging", false],
    [undefined, false],
  ] as const) {
    assert.equal(isDebugging({ LOG_LEVEL: level }), expected, level);
  }
});
