import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../test/support/command-line.ts";
import { readConfig } from "./settings.ts";
import { configName } from "./settings-table.ts";

function homeWith(t: TestContext, text: string | Uint8Array): string {
  const home = temporaryDirectory(t);
  fs.writeFileSync(join(home, configName), text);
  return home;
}

test("a home without a configuration, and no home at all, have an empty one", (t) => {
  const home = temporaryDirectory(t);
  assert.deepEqual(readConfig(home), {});
  assert.deepEqual(readConfig(join(home, "nothing")), {});
});

const price = { input_per_million_usd: 2, output_per_million_usd: 8 };
/** Every key, with a value of it and the setting that it is. */
const keys: Readonly<Record<string, readonly [value: unknown, setting: string, read?: unknown]>> = {
  model: ["ollama/qwen3", "model"],
  providers: [["openai"], "providers"],
  persona: ["You are Nova.", "persona"],
  companion_name: ["Nova", "companionName"],
  host: ["127.0.0.1", "host"],
  port: [0, "port"],
  hosts: [["nova.example:8443"], "hosts"],
  token_file: ["/etc/nova", "tokenFile"],
  store: ["postgres://nova@db/chats", "store"],
  auto_record: [true, "autoRecord"],
  keep_photo_metadata: [true, "keepPhotoMetadata"],
  prices: [
    { "openai/gpt": { ...price, cached_input_per_million_usd: 0.5 }, "ollama/qwen3": price },
    "prices",
    {
      "openai/gpt": {
        inputPerMillionUsd: 2,
        outputPerMillionUsd: 8,
        cachedInputPerMillionUsd: 0.5,
      },
      "ollama/qwen3": { inputPerMillionUsd: 2, outputPerMillionUsd: 8 },
    },
  ],
  idle_timeout_minutes: [1440, "idleTimeoutMinutes"],
  daily_reset_enabled: [true, "dailyReset"],
  daily_reset_hour: [4, "dailyResetHour"],
  daily_reset_quiet_minutes: [30, "dailyResetQuietMinutes"],
  max_session_messages: [null, "maxSessionMessages"],
  user_timezone: ["Europe/Berlin", "timeZone"],
  session_age_warning_hours: [0, "sessionAgeWarningHours"],
  time_away_minutes: [10, "timeAwayMinutes"],
  working_memory_capacity: [12, "workingMemoryCapacity"],
  window: [8192, "window"],
};

test("every key of a configuration is read, the original's by their names", (t) => {
  const file = Object.entries(keys).map(([key, [value]]) => [key, value]);
  const wanted = Object.values(keys).map(([value, setting, read = value]) => [setting, read]);
  const config = readConfig(homeWith(t, JSON.stringify(Object.fromEntries(file))));
  assert.deepEqual(config, Object.fromEntries(wanted));
});

const refused: readonly [json: string, names: RegExp][] = [
  [
    '{"idle_timout_minutes": 5}',
    /there is no idle_timout_minutes in the file: there are store, model, /,
  ],
  ['{"prices": {"a/b": {"input": 1}}}', /prices\.a\/b: input is no key of this place; those are /],
  ['{"prices": {"a/b": 1}}', /prices\.a\/b must be a mapping$/],
  [
    '{"prices": {"a/b": {"input_per_million_usd": 1, "output_per_million_usd": -1}}}',
    /prices\.a\/b: output_per_million_usd must be a number from 0 to 1000000$/,
  ],
  ['{"providers": ["openai", "else"]}', /providers must be a list of ollama, openai, /],
  ['{"hosts": "nova.example"}', /hosts must be a list of names$/],
  ['{"idle_timeout_minutes": "5"}', /idle_timeout_minutes must be a number from 0$/],
  ['{"daily_reset_hour": 24}', /daily_reset_hour/],
  ['{"working_memory_capacity": 0}', /working_memory_capacity/],
  ['{"daily_reset_enabled": "yes"}', /daily_reset_enabled/],
  ['{"max_session_messages": 0}', /max_session_messages/],
  ['{"user_timezone": "Mars/Olympus"}', /user_timezone/],
  ['{"port": 70000}', /port/],
  ['{"model": ""}', /model/],
  ["[]", /the file must be an object$/],
  ["{", /config\.json:1: it is not JSON/],
  ['{\n  "model": "offline",\n  "window": \n}\n', /config\.json: it is not JSON/],
  ['{\n  "model": "offline"\n  "window": 5\n}\n', /config\.json:3: it is not JSON/],
  ["{\n  // a comment\n}", /config\.json:2: it is not JSON/],
  ['{\n  "model": "offline",\n', /config\.json:3: it is not JSON/],
];
test("a configuration that cannot be used is refused with the file and the key", (t) => {
  const code = "THROUGHLINE_CONFIGURATION";
  for (const [json, names] of refused) {
    const home = homeWith(t, json);
    const isAbout = ({ message }: Error) =>
      message.startsWith(join(home, configName)) && names.test(message.slice(home.length));
    assert.throws(() => readConfig(home), { code }, json);
    assert.throws(() => readConfig(home), isAbout, json);
  }
  assert.throws(() => readConfig(homeWith(t, new Uint8Array([0xff]))), { code, message: /UTF-8/ });
  const large = homeWith(t, `{}${" ".repeat(1024 * 1024)}`);
  assert.throws(() => readConfig(large), { code, message: /larger than 1 MiB/ });
  const home = temporaryDirectory(t);
  fs.mkdirSync(join(home, configName));
  assert.throws(() => readConfig(home), { code, message: /is not a regular file/ });
});
