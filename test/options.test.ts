// Options as JavaScript may give them: absent, undefined, misspelt or of a wrong kind. A row for each.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompanionOptions } from "../src/companion/options.ts";
import { startCompanion } from "../src/companion/start-companion.ts";
import { openThroughline, type ThroughlineOptions } from "../src/core/throughline.ts";
import { type MomentsOptions, momentsSettings } from "../src/moments/options.ts";
import { openPostgresStorage, type PostgresStorageOptions } from "../src/postgres/postgres.ts";

/** A pool that is not to be used: nothing listens there. */
let connects = 0;
const pool = {
  on: () => undefined,
  connect() {
    connects++;
    return Promise.reject(new Error("nothing listens there"));
  },
};
const software = { name: "test", version: "1" };
const run = { sessionId: "0a63cda9", software };

/** Each takes options that are whole but for those of a row, and resolves when they are taken. */
const doors = {
  async openThroughline(given: unknown) {
    await (await openThroughline(given as ThroughlineOptions)).close();
  },
  async freshness(given: unknown) {
    const options = { storage: "memory", freshness: given } as ThroughlineOptions;
    await (await openThroughline(options)).close();
  },
  async openPostgresStorage(given: object) {
    await openPostgresStorage({
      pool,
      timeoutMs: 50,
      ...given,
    } as unknown as PostgresStorageOptions);
  },
  async startCompanion(given: unknown) {
    await using throughline = await openThroughline({ storage: "memory" });
    await startCompanion(throughline, given as CompanionOptions);
  },
  async startMoments(given: object) {
    momentsSettings({ ...run, ...given } as MomentsOptions);
  },
};
type Door = keyof typeof doors;

const memory = { storage: "memory" };
const notAnObject = /must be an object$/;
const refused: readonly [door: Door, given: readonly unknown[], message: string | RegExp][] = [
  ["openThroughline", [undefined, null, "/home/nova"], notAnObject],
  ["openThroughline", [{ home: "" }, { home: null }, { home: 7 }], "home must be the path of a"],
  [
    "openThroughline",
    [{ storage: null }, { storage: "disk" }, { storage: {} }],
    'storage must be "memory" or a storage',
  ],
  ["openThroughline", [{ ...memory, provider: null }], "provider must be a name"],
  ["openThroughline", [{ ...memory, model: "" }], "model must be a name"],
  [
    "openThroughline",
    [{ ...memory, durabilty: "process" }],
    "there is no durabilty in the options of openThroughline: there are home, storage, durability, ",
  ],
  ["freshness", [null, [], "x", 5], "freshness must be an object"],
  [
    "freshness",
    [{ idle_timeout_minutes: 30 }],
    "there is no idle_timeout_minutes in freshness: there are idleTimeoutMinutes, dailyReset, ",
  ],
  ...rows("freshness", "idleTimeoutMinutes", [-1, Number.NaN, 1 / 0, "30", null, true]),
  ...rows("freshness", "dailyReset", [1, "true", null]),
  ...rows("freshness", "dailyResetHour", [24, -1, 2.5, Number.NaN, "4", null]),
  ...rows("freshness", "dailyResetQuietMinutes", [-0.1, Number.NaN, "0"]),
  ...rows("freshness", "maxSessionMessages", [0, -1, 2.5, Number.NaN, 1 / 0, "5", true]),
  ...rows("freshness", "timeZone", ["../x", "Europe/Atlantis", "+01:00", 5, null]),
  ...rows("freshness", "sessionAgeWarningHours", [-12, Number.NaN, "12"]),
  ...rows("freshness", "timeAwayMinutes", [-1, 1 / 0, "30"]),
  [
    "openThroughline",
    [
      { ...memory, clock: 5 },
      { ...memory, clock: [] },
    ],
    "clock must be an object",
  ],
  ...rows("openPostgresStorage", "durability", [null, "power_cut", "off", ""]),
  ["openPostgresStorage", [{ companion: 5 }, { companion: null }], "companion must be "],
  ["startCompanion", [null, "30000", []], "the options of a companion must be "],
  ...rows("startCompanion", "saveEveryMs", [-1, "30000"]),
  ...rows("startCompanion", "sleepAfterBoredMs", [Number.NaN, "60000"]),
  ...rows("startCompanion", "pid", ["7"]),
  ...rows("startCompanion", "timeZone", ["X/Y", "nowhere", 7]),
  ["startMoments", [{ hurtful: {} }, { hurtful: "x" }], "hurtful must be a function"],
  ["startMoments", [{ consent: [] }, { consent: null }], "consent must be an object"],
  [
    "openPostgresStorage",
    [{ pool: { ...pool, options: { max: 1 } } }],
    "the pool has max 1: at least 2",
  ],
];

/** The wrong values of one option, which the error names. */
function rows(door: Door, name: string, values: readonly unknown[]): typeof refused {
  return [[door, values.map((value) => ({ [name]: value })), name]];
}

for (const [door, given, message] of refused) {
  const what = typeof message === "string" ? message : message.source;
  test(`${door} refuses ${given.length} kinds of options: ${what}`, async () => {
    for (const each of given) {
      await assert.rejects(doors[door](each as object), (error: Error & { code?: string }) => {
        assert.equal(error.code, "THROUGHLINE_CONFIGURATION", String(error));
        const isSaid =
          typeof message === "string"
            ? error.message.startsWith(message)
            : message.test(error.message);
        return isSaid || assert.fail(error.message);
      });
    }
    assert.equal(connects, 0, "the pool is not used before");
  });
}

const names: Readonly<Record<Door, readonly string[]>> = {
  openThroughline: [
    ...["home", "durability", "freshness", "provider", "model", "workingMemoryCapacity"],
    ...["clock", "timers", "newId", "logger"],
  ],
  freshness: [
    ...["idleTimeoutMinutes", "dailyReset", "dailyResetHour", "dailyResetQuietMinutes"],
    ...["maxSessionMessages", "timeZone", "sessionAgeWarningHours", "timeAwayMinutes"],
  ],
  openPostgresStorage: [
    ...["companion", "leaseMs", "durability", "clock", "timers", "newId", "logger"],
  ],
  startCompanion: [
    ...["saveEveryMs", "sleepAfterBoredMs", "emotions", "memory", "timeZone"],
    "pid",
  ],
  startMoments: ["consent", "encoder", "mode", "s3", "persona", "hurtful"],
};
for (const [door, absent] of Object.entries(names) as [Door, readonly string[]][]) {
  test(`every option of ${door} that is undefined is as if absent`, async () => {
    const none = Object.fromEntries(absent.map((name) => [name, undefined]));
    const taken = doors[door](door === "openThroughline" ? { ...memory, ...none } : none);
    if (door !== "openPostgresStorage") return taken;
    return assert.rejects(taken, { code: "THROUGHLINE_UNAVAILABLE" });
  });
}
