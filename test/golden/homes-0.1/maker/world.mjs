// What every part of the maker needs: the code of 0.1, a clock that stands still, ids that count.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The checkout of 0.1, in which the maker is started. */
export const root = process.cwd();
/** A module of 0.1 by its path. */
export const code = (path) => import(pathToFileURL(join(root, path)).href);

/** One boot of one machine, up for a day when the clock began. */
export const boot = "0f7c2d4e-58a1-4b0e-9a53-7f1f3b6f2c11";
export const bootedAt = Date.parse("2026-03-03T09:00:00.000Z");

/** A clock that is moved by hand. */
export class HeldClock {
  constructor(at) {
    this.wall = Date.parse(at);
    this.passed = 0;
  }
  now = () => this.wall;
  monotonic = () => this.passed;
  bootId = () => boot;
  uptimeMs = () => this.wall - bootedAt;
  pass(ms) {
    this.wall += ms;
    this.passed += ms;
  }
}

/** Ids `a1`, `a2`, …: the same in every run of the maker. */
export function counting(prefix) {
  let made = 0;
  return () => `${prefix}${++made}`;
}

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** A UUIDv7 of an instant, the same in every run of the maker. */
export function uuidOf(at, name) {
  const time = at.toString(16).padStart(12, "0");
  const rest = sha256(name);
  const parts = [time.slice(0, 8), time.slice(8), `7${rest.slice(0, 3)}`];
  return [...parts, `a${rest.slice(3, 6)}`, rest.slice(6, 18)].join("-");
}

/** 16 by 8 pixels of one red, which its number tells from others. */
export function picture(number) {
  const red = Buffer.from(
    "/9j/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo" +
      "q6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSk" +
      "pKT/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QA" +
      "FQEBAQAAAAAAAAAAAAAAAAAAAwX/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCIAaw//9k=",
    "base64",
  );
  const comment = Buffer.from([0xff, 0xfe, 0, 4, number >> 8, number & 0xff]);
  return Buffer.concat([red.subarray(0, 2), comment, red.subarray(2)]);
}

export const software = { name: "throughline", version: "0.1.0" };
export const wording = "I keep the last two minutes of picture and sound.";
export const everything = {
  messages: true,
  frames: true,
  audio: true,
  upload: true,
  export: true,
  wording,
  by: "Ori",
};

/** Two messages, two pictures and 20 ms of sound, as a companion feeds them. */
export function live({ recorder }, clock, { chatId, said, first }) {
  recorder.saw("Ori");
  recorder.message({ role: "user", text: said[0], id: `${first}q`, chatId, turnId: `${first}q` });
  clock.pass(500);
  for (const number of [first, first + 1]) {
    recorder.frame(picture(number));
    recorder.audio(new Int16Array(160).fill(number));
    clock.pass(600);
  }
  recorder.message({
    role: "assistant",
    text: said[1],
    id: `${first}a`,
    chatId,
    turnId: `${first}q`,
  });
  clock.pass(400);
}

/** A reaction to that, with an id that is the same in every run of the maker. */
export function reaction(clock, chatId, what, more = {}) {
  const uuid = uuidOf(clock.now(), what);
  const label = { sentiment: "positive", what, trigger: "head scratch", channel: "touch" };
  return { ...label, source: "http", chatId, uuid, ...more };
}
