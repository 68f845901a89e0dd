import { invalid } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json.ts";
import type { Consent } from "../package/record.ts";
import { seconds } from "./times.ts";

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

/** @throws ThroughlineError `THROUGHLINE_INVALID` */
export function checkConsent(input: ConsentInput, wallMs: number): Consent {
  const { messages, frames, audio, upload, wording = null, by = null } = input;
  const switches = { messages, frames, audio, upload, export: input.export };
  for (const [name, value] of Object.entries(switches)) {
    if (value !== undefined && typeof value !== "boolean")
      throw invalid(`${name} must be a boolean`);
  }
  for (const [name, value] of Object.entries({ wording, by })) {
    const isText = typeof value === "string" && value.length >= 1 && value.length <= 2_000;
    if (value !== null && !isText) throw invalid(`${name} must have 1 to 2,000 characters`);
  }
  if ((frames === true || audio === true) && wording === null) {
    throw invalid("wording must be what the person saw: pictures and sound need it");
  }
  return {
    messages: messages === true,
    frames: frames === true,
    audio: audio === true,
    upload: upload === true,
    export: input.export === true,
    wording,
    timestamp: seconds(wallMs),
    by,
  };
}

/**
 * What was agreed to at another process, if it is later than what is known here. Of two at the same
 * time all processes take the same one.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: it is no consent.
 */
export function laterConsent(here: Consent, elsewhere: unknown): Consent | undefined {
  const { timestamp, ...input } = isJsonObject(elsewhere) ? elsewhere : {};
  if (typeof timestamp !== "number") throw invalid("no consent");
  const told = { ...checkConsent(input, 0), timestamp };
  const apart = timestamp - (here.timestamp ?? Number.NEGATIVE_INFINITY);
  const isLater = apart === 0 ? JSON.stringify(told) > JSON.stringify(here) : apart > 0;
  return isLater ? told : undefined;
}

/** As a package of this stores it: of one that holds nothing but a label, nothing leaves. */
export function effectiveConsent(consent: Consent): Consent {
  const holdsAnything = consent.messages || consent.frames || consent.audio;
  return holdsAnything ? consent : { ...consent, upload: false, export: false };
}
