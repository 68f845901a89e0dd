// The browser's speech recognition, where it has one. Most send the sound to a service of theirs: see
// speech-place.ts.
import { type Heard, heardIn } from "./heard-words.ts";
import {
  installOnDevice,
  type OnDeviceRecognition,
  placeOf,
  type SpeechPlace,
} from "./speech-place.ts";

interface Recognition extends EventTarget {
  processLocally?: boolean;
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  start(): void;
  stop(): void;
  abort(): void;
}
type ResultEvent = Event & { readonly results: SpeechRecognitionResultList };

interface SpeechInEvents {
  /** What is heard since the last parts that were taken. @returns how many parts are taken now. */
  readonly heard: (heard: Heard) => number;
  /** It listens no more, however that came; `why` where it failed. */
  readonly ended: (why: string | undefined) => void;
}

const reasons: Readonly<Record<string, string>> = {
  "not-allowed": "The browser does not let this page use the microphone.",
  "service-not-allowed": "The browser does not allow speech recognition on this page.",
  "audio-capture": "No microphone was found.",
  network: "The browser's speech service cannot be reached.",
  "language-not-supported": "The browser cannot recognise speech in this language.",
};
/** Silence, and our own abort: nothing failed. */
const harmless = ["no-speech", "aborted"];

export const speechInMissing =
  "This browser has no speech recognition. Type instead, or use Chrome, Edge or Safari.";

export function hasSpeechIn(): boolean {
  return recognitionOf() !== undefined;
}

/** Where speech would be recognised now; `undefined`: this browser cannot. */
export async function speechInPlace(): Promise<SpeechPlace | undefined> {
  const Constructor = recognitionOf();
  return Constructor && placeOf(Constructor, navigator.language);
}

/** Lets the browser download what it needs. @returns whether speech stays on the device from now on. */
export async function installSpeechIn(): Promise<boolean> {
  const Constructor = recognitionOf();
  return Constructor !== undefined && installOnDevice(Constructor, navigator.language);
}

/** One stretch of listening. */
export class SpeechIn {
  readonly #recognition: Recognition;
  #why: string | undefined;

  /**
   * @param staysOnDevice no sound may leave the device; else the browser decides.
   * @returns `undefined`: this browser cannot.
   */
  static create(events: SpeechInEvents, staysOnDevice: boolean): SpeechIn | undefined {
    const Constructor = recognitionOf();
    if (Constructor === undefined) return undefined;
    return new SpeechIn(new Constructor(), events, staysOnDevice);
  }

  private constructor(recognition: Recognition, events: SpeechInEvents, staysOnDevice: boolean) {
    this.#recognition = recognition;
    if (staysOnDevice) recognition.processLocally = true;
    recognition.lang = navigator.language;
    recognition.continuous = true;
    recognition.interimResults = true;
    let taken = 0;
    recognition.addEventListener("result", (event) => {
      const { results } = event as ResultEvent;
      const parts = Array.from(results, (result) => {
        const { transcript = "", confidence = 1 } = result[0] ?? {};
        return { transcript, confidence, isFinal: result.isFinal };
      });
      taken += events.heard(heardIn(parts.slice(taken)));
    });
    recognition.addEventListener("error", (event) => {
      const code = (event as Event & { readonly error?: string }).error ?? "";
      if (!harmless.includes(code)) this.#why = reasons[code] ?? "Speech recognition failed.";
    });
    recognition.addEventListener("end", () => events.ended(this.#why), { once: true });
  }

  /** @returns whether it began; `ended` is called only then. */
  start(): boolean {
    try {
      this.#recognition.start();
      return true;
    } catch {
      return false; // the browser is not done with the one before
    }
  }

  /** What was heard already still comes. */
  stop(): void {
    this.#recognition.stop();
  }

  abort(): void {
    this.#recognition.abort();
  }
}

type RecognitionConstructor = (new () => Recognition) & OnDeviceRecognition;

function recognitionOf(): RecognitionConstructor | undefined {
  const all = window as unknown as Record<string, RecognitionConstructor | undefined>;
  return all["SpeechRecognition"] ?? all["webkitSpeechRecognition"];
}
