export const sentiments = ["positive", "negative"] as const;
export type Sentiment = (typeof sentiments)[number];

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const nameShape = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_(positive|negative)_fb_[0-9a-f]{12}$/;

/** A UUIDv7 in lower case. */
export function isUuidV7(text: unknown): text is string {
  return typeof text === "string" && uuidShape.test(text);
}

/** A name of a package folder: one path component, without anything that a path could mean. */
export function isPackageName(text: unknown): text is string {
  return typeof text === "string" && nameShape.test(text);
}

/** What a package's name says of its sentiment. */
export function sentimentOf(name: string): Sentiment | undefined {
  return nameShape.exec(name)?.[1] as Sentiment | undefined;
}

/** A UUIDv7: the wall clock's milliseconds, then 74 random bits. `random` fills the bytes given. */
export function makeUuidV7(wallMs: number, random: (bytes: Uint8Array) => void): string {
  const bytes = new Uint8Array(16);
  random(bytes);
  const ms = Math.min(Math.max(Math.trunc(wallMs), 0), 2 ** 48 - 1);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, Math.floor(ms / 2 ** 32));
  view.setUint32(2, ms % 2 ** 32);
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  const hex = Buffer.from(bytes).toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join("-");
}

/** The id of a package: the last 12 hex digits of its uuid, and of its name. */
export function packageId(uuidOrName: string): string {
  return uuidOrName.slice(-12);
}

/** `YYYY-MM-DDTHH-MM-SS` in UTC of an instant in milliseconds, held within the years 0 to 9999. */
export function packageStamp(wallMs: number): string {
  const at = Math.min(Math.max(Math.trunc(wallMs) || 0, -62_167_219_200_000), 253_402_300_799_999);
  return new Date(at).toISOString().slice(0, 19).replaceAll(":", "-");
}

export function packageName(stamp: string, sentiment: Sentiment, uuid: string): string {
  return `${stamp}_${sentiment}_fb_${packageId(uuid)}`;
}

/** Longest part of a key that comes from a session's id. */
const maxSessionLength = 100;

/**
 * Makes the prefix of every object of a package, with its last slash: `feedback/<session_id>/<name>/`.
 *
 * What a session's id holds besides letters, digits, `.`, `_` and `-` becomes `_`; it is cut at 100
 * characters; `""`, `.` and `..` become `unknown`. Ids of this project's own stay as they are.
 *
 * Source: the key layout of the original, whose empty id gave `feedback//`.
 */
export function keyPrefix(sessionId: string, name: string): string {
  const safe = sessionId.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, maxSessionLength);
  const session = safe === "" || safe === "." || safe === ".." ? "unknown" : safe;
  return `feedback/${session}/${name}/`;
}
