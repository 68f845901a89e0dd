// Why nothing is captured, in words for a person.
import { detailOf } from "../../api/client.ts";

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
