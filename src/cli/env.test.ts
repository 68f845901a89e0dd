import assert from "node:assert/strict";
import { test } from "node:test";
import { isDebugging, readEnvironment } from "./env.ts";

const read = (variables: Record<string, string>) => readEnvironment(variables, "/users/me");

test("an empty environment says nothing but where the user lives", () => {
  const { models, ...env } = read({});
  assert.deepEqual(
    Object.values(models).filter((value) => value !== undefined),
    [],
  );
  assert.deepEqual(
    Object.entries(env).filter(([, value]) => value !== undefined),
    [["userHome", "/users/me"]],
  );
});

const variables: readonly [variable: string, read: (env: ReturnType<typeof read>) => unknown][] = [
  ["THROUGHLINE_HOME", (env) => env.home],
  ["THROUGHLINE_STORE", (env) => env.store],
  ["XDG_DATA_HOME", (env) => env.xdgDataHome],
  ["THROUGHLINE_MODEL", (env) => env.model],
  ["THROUGHLINE_TOKEN", (env) => env.token],
  ["THROUGHLINE_TOKEN_FILE", (env) => env.tokenFile],
  ["OPENAI_API_KEY", (env) => env.models.openaiApiKey],
  ["OPENAI_BASE_URL", (env) => env.models.openaiBaseUrl],
  ["ANTHROPIC_API_KEY", (env) => env.models.anthropicApiKey],
  ["ANTHROPIC_BASE_URL", (env) => env.models.anthropicBaseUrl],
  ["FEEDBACK_S3_BUCKET", (env) => env.bucket],
  ["FEEDBACK_STORAGE", (env) => env.storage],
  ["AWS_ENDPOINT_URL_S3", (env) => env.endpoint],
  ["OLLAMA_HOST", (env) => env.models.ollamaHost],
  ["THROUGHLINE_MODEL_KEY", (env) => env.models.compatibleApiKey],
  ["AWS_REGION", (env) => env.models.awsRegion],
  ["AWS_DEFAULT_REGION", (env) => env.models.awsRegion],
  ["AWS_ACCESS_KEY_ID", (env) => env.models.awsAccessKeyId],
  ["AWS_SECRET_ACCESS_KEY", (env) => env.models.awsSecretAccessKey],
  ["AWS_SESSION_TOKEN", (env) => env.models.awsSessionToken],
  ["AWS_BEARER_TOKEN_BEDROCK", (env) => env.models.awsBearerToken],
  ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", (env) => env.models.bedrockBaseUrl],
];
for (const [variable, value] of variables) {
  test(`${variable} is read, and says nothing when it is blank`, () => {
    assert.equal(value(read({ [variable]: " said " })), "said");
    assert.equal(value(read({ [variable]: "  " })), undefined);
  });
}

test("AWS_REGION goes before AWS_DEFAULT_REGION", () => {
  const { models } = read({ AWS_DEFAULT_REGION: "b", AWS_REGION: "a" });
  assert.equal(models.awsRegion, "a");
});

for (const [text, port] of [
  ["0", 0],
  ["7423", 7423],
  ["65535", 65_535],
  ["", undefined],
] as const) {
  test(`PORT=${text} is ${port}`, () => assert.equal(read({ PORT: text }).port, port));
}

for (const text of ["65536", "-1", "80a", "1e3", "0x50", "8.0", "999999"]) {
  test(`PORT=${text} is refused with the name of the variable`, () => {
    assert.throws(() => read({ PORT: text }), {
      code: "THROUGHLINE_CONFIGURATION",
      message: /^PORT /,
    });
  });
}

const switches = {
  FEEDBACK_AUTO_RECORD: (env: ReturnType<typeof read>) => env.autoRecord,
  THROUGHLINE_S3_CREATE_BUCKET: (env: ReturnType<typeof read>) => env.createBucket,
};
for (const [name, value] of Object.entries(switches)) {
  for (const word of ["1", "true", "Yes", "ON", " 1 "]) {
    test(`${name}=${word} is on`, () => assert.equal(value(read({ [name]: word })), true));
  }
  for (const word of ["0", "false", "No", "OFF"]) {
    test(`${name}=${word} is off`, () => assert.equal(value(read({ [name]: word })), false));
  }
  for (const word of ["2", "ja", "truee", "01", "null"]) {
    test(`${name}=${word} is refused with the name of the variable`, () => {
      assert.throws(() => read({ [name]: word }), {
        code: "THROUGHLINE_CONFIGURATION",
        message: `${name} must be true or false`,
      });
    });
  }
}

test("LOG_LEVEL is one of pino's levels, in any case; another is refused", () => {
  assert.equal(read({ LOG_LEVEL: "DEBUG" }).logLevel, "debug");
  assert.throws(() => read({ LOG_LEVEL: "loud" }), {
    code: "THROUGHLINE_CONFIGURATION",
    message: /^LOG_LEVEL /,
  });
});

for (const [level, expected] of [
  ["debug", true],
  [" Trace ", true],
  ["info", false],
  ["debugging", false],
  [undefined, false],
] as const) {
  test(`errors ${expected ? "" : "do not "}tell where they happened at LOG_LEVEL=${level}`, () => {
    assert.equal(isDebugging({ LOG_LEVEL: level }), expected);
  });
}
