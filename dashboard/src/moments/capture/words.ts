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

/** How it stands with camera and microphone, where this page has neither on. */
export function standingInWords(consent: Consent, capturing: Streams): string {
  if (!consent.frames && !consent.audio) return "Camera and microphone are off.";
  const since = consent.timestamp === null ? "" : ` since ${fullTime(consent.timestamp * 1_000)}`;
  const what = `${capitalised(sourcesInWords(consent))} may be used${since}.`;
  const isComing = capturing.frames || capturing.audio;
  return `${what} ${isComing ? "They are, by another page or device." : "Nothing comes in now."}`;
}

/** "1:05". */
export function minutesInWords(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function megabytesInWords(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const devices: Readonly<Record<string, string>> = {
  NotAllowedError: "The browser was told not to give camera or microphone to this page.",
  NotFoundError: "This machine has no such camera or microphone.",
  NotReadableError: "Another program has the camera or the microphone.",
  OverconstrainedError: "This camera or microphone cannot do what is needed.",
  AbortError: "The camera or the microphone did not start.",
};

export function deviceTrouble(error: unknown): string {
  const known = error instanceof DOMException ? devices[error.name] : undefined;
  return known ?? detailOf(error);
}

export function endedTrouble(why: "consent" | "refused"): string {
  return why === "consent"
    ? "Switched off: what was agreed to was withdrawn."
    : "Switched off: the companion does not take what this page sends.";
}
