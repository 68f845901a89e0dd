// The browser's speech recognition, where it has one. Most send the sound to a service of theirs.

interface Recognition extends EventTarget {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  start(): void;
  stop(): void;
  abort(): void;
}
type ResultEvent = Event & {
  readonly resultIndex: number;
  readonly results: SpeechRecognitionResultList;
};

export interface SpeechInEvents {
  /** What is heard: `isFinal` will not change any more. */
  readonly heard: (text: string, isFinal: boolean) => void;
  /** It listens no more, however that came; `why` where it failed. */
  readonly ended: (why: string | undefined) => void;
}

const reasons: Readonly<Record<string, string>> = {
  "not-allowed": "The browser does not allow this page the microphone.",
  "service-not-allowed": "The browser does not allow speech recognition here.",
  "audio-capture": "No microphone was found.",
  network: "The browser's speech recognition needs its service, which cannot be reached.",
  "language-not-supported": "The browser does not recognise speech in this language.",
};
/** Silence, and our own abort: nothing failed. */
const harmless = ["no-speech", "aborted"];

export const speechInMissing =
  "This browser has no speech recognition. Typing works here; Chrome, Edge and Safari also listen.";

export function hasSpeechIn(): boolean {
  return recognitionOf() !== undefined;
}

/** One stretch of listening. */
export class SpeechIn {
  readonly #recognition: Recognition;
  #why: string | undefined;

  /** @returns `undefined`: this browser cannot. */
  static create(events: SpeechInEvents): SpeechIn | undefined {
    const Constructor = recognitionOf();
    return Constructor === undefined ? undefined : new SpeechIn(new Constructor(), events);
  }

  private constructor(recognition: Recognition, events: SpeechInEvents) {
    this.#recognition = recognition;
    recognition.lang = navigator.language;
    recognition.continuous = true;
    recognition.interimResults = true;
    recognition.addEventListener("result", (event) => {
      const { results, resultIndex } = event as ResultEvent;
      for (let at = resultIndex; at < results.length; at++) {
        const result = results[at];
        const text = result?.[0]?.transcript ?? "";
        if (text !== "") events.heard(text, result?.isFinal ?? false);
      }
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

function recognitionOf(): (new () => Recognition) | undefined {
  const all = window as unknown as Record<string, (new () => Recognition) | undefined>;
  return all["SpeechRecognition"] ?? all["webkitSpeechRecognition"];
}
