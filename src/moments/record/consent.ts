import { invalid } from "../../core/errors.ts";
import { checked, required } from "../../core/shape.ts";
import { type Consent, consentShape } from "../package/record.ts";
import { seconds } from "./ring.ts";

/** What a person is asked before a camera or a microphone is on. */
export const consentWording =
  "When you react to something I did, I keep the last two minutes of picture and sound with it.";

/** What is agreed to, as a request gives it. What is left out is not agreed to. */
export interface ConsentInput {
  readonly messages?: boolean | undefined;
  readonly frames?: boolean | undefined;
  readonly audio?: boolean | undefined;
  readonly upload?: boolean | undefined;
  readonly export?: boolean | undefined;
  /** The words that the person saw, 1 to 2,000 characters: needed for pictures and sound. */
  readonly wording?: string | undefined;
  /** Who agreed. */
  readonly by?: string | undefined;
}

/** Words follow the chat; pictures and sound are off, and nothing leaves, until somebody agrees. */
export const initialConsent: Consent = {
  messages: true,
  frames: false,
  audio: false,
  upload: false,
  export: false,
  wording: null,
  timestamp: null,
  by: null,
};

const agreed = checked(consentShape, ({ frames, audio, wording, by }, at) => {
  for (const [name, text] of Object.entries({ wording, by })) {
    if (text === null || (text.length >= 1 && text.length <= 2_000)) continue;
    at.in(name).says("must have 1 to 2,000 characters");
  }
  if ((frames || audio) && wording === null) {
    at.in("wording").says("must be what the person saw: pictures and sound need it");
  }
});

/** What is agreed to, or refused: each can be withdrawn. */
export const consentSwitches = ["messages", "frames", "audio", "upload", "export"] as const;

/**
 * What another consent changes: `isOther` if it is to something else, or in other words. `emptied`: the streams that
 * are not kept on. Pictures and sound of before somebody agreed to send or to export them are neither sent nor
 * exported; words are in the chat, and go with a reaction to them whenever they were said.
 */
export function changeOf(before: Consent, after: Consent) {
  const withdrawn = consentSwitches.filter((name) => before[name] && !after[name]);
  const granted = consentSwitches.filter((name) => after[name] && !before[name]);
  const isOther = withdrawn.length > 0 || granted.length > 0 || after.wording !== before.wording;
  const isForMore = granted.includes("upload") || granted.includes("export");
  const emptied: readonly string[] = isForMore ? ["frames", "audio", ...withdrawn] : withdrawn;
  return { emptied, withdrawn, isOther };
}

/** Reads a consent of a file or another process. @throws ThroughlineError `THROUGHLINE_INVALID` */
export function readConsent(value: unknown): Consent {
  return required(agreed, value, "consent");
}

/** @throws ThroughlineError `THROUGHLINE_INVALID` */
export function checkConsent(input: ConsentInput, wallMs: number): Consent {
  const { messages = false, frames = false, audio = false, upload = false } = input;
  const { export: mayExport = false, wording = null, by = null } = input;
  const switches = { messages, frames, audio, upload, export: mayExport };
  return readConsent({ ...switches, wording, timestamp: seconds(wallMs), by });
}

/**
 * What was agreed to at another process, if it is later than what is known here. Of two at the same
 * time all processes take the same one.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: it is no consent.
 */
export function laterConsent(here: Consent, elsewhere: unknown): Consent | undefined {
  const other = readConsent(elsewhere);
  if (other.timestamp === null) throw invalid("no consent: it has no time");
  const apart = other.timestamp - (here.timestamp ?? Number.NEGATIVE_INFINITY);
  const isLater = apart === 0 ? JSON.stringify(other) > JSON.stringify(here) : apart > 0;
  return isLater ? other : undefined;
}

/** As a package of this stores it: of one that holds nothing but a label, nothing leaves. */
export function effectiveConsent(consent: Consent): Consent {
  const holdsAnything = consent.messages || consent.frames || consent.audio;
  return holdsAnything ? consent : { ...consent, upload: false, export: false };
}
