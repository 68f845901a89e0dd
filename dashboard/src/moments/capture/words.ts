// Capture in a person's words.

import { detailOf } from "../../api/client.ts";
import type { Consent } from "../../api/openapi-types.ts";
import { fullTime } from "../../ui/in-words.ts";

interface Streams {
  readonly frames: boolean;
  readonly audio: boolean;
}

/** "camera and microphone", "camera", "microphone". */
export function sourcesInWords({ frames, audio }: Streams): string {
  if (frames && audio) return "camera and microphone";
  return frames ? "camera" : "microphone";
}

/** The state of camera and microphone, where this page has neither on. */
export function standingInWords(consent: Consent, capturing: Streams): string {
  if (!consent.frames && !consent.audio) return "Camera and microphone are off.";
  const since = consent.timestamp === null ? "" : ` since ${fullTime(consent.timestamp * 1_000)}`;
  const what = `Consent given for ${sourcesInWords(consent)}${since}.`;
  const isComing = capturing.frames || capturing.audio;
  return `${what} ${isComing ? "In use by another page or device." : "Not in use now."}`;
}

/** "1:05". */
export function minutesInWords(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function megabytesInWords(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const devices: Readonly<Record<string, string>> = {
  NotAllowedError: "The browser does not let this page use the camera or the microphone.",
  NotFoundError: "No camera or microphone was found.",
  NotReadableError: "Another program is using the camera or the microphone.",
  OverconstrainedError: "This camera or microphone does not support the required settings.",
  AbortError: "The camera or the microphone did not start.",
};

export function deviceTrouble(error: unknown): string {
  const known = error instanceof DOMException ? devices[error.name] : undefined;
  return known ?? detailOf(error);
}

export function endedTrouble(why: "consent" | "refused"): string {
  return why === "consent"
    ? "Turned off: the consent was withdrawn."
    : "Turned off: the server does not accept what this page sends.";
}
