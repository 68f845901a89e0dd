import type { Consent } from "../package/record.ts";
import type { ConsentInput } from "./consent.ts";
import type { MomentRecorder } from "./moment-recorder.ts";

type Listener = (consent: Consent, by: "here" | "elsewhere") => void;

/** Consent: passed to the recorder, stored for later runs, and reported to listeners. */
export class Agreements {
  readonly #recorder: MomentRecorder;
  readonly #kept: { keep(consent: Consent): Promise<Consent> };
  readonly #listeners = new Set<Listener>();

  constructor(recorder: MomentRecorder, kept: { keep(consent: Consent): Promise<Consent> }) {
    this.#recorder = recorder;
    this.#kept = kept;
  }

  /** As `Moments.agree`. */
  agree = async (input: ConsentInput): Promise<Consent> => {
    this.#recorder.agree(input);
    this.#publish("here");
    return await this.#kept.keep(this.#recorder.consent);
  };

  /** As `Moments.agreedElsewhere`. */
  agreedElsewhere = async (consent: unknown): Promise<void> => {
    if (!this.#recorder.agreedElsewhere(consent)) return;
    this.#publish("elsewhere");
    await this.#kept.keep(this.#recorder.consent);
  };

  /** As `Moments.onAgreed`. */
  onAgreed = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #publish(by: "here" | "elsewhere"): void {
    for (const listener of this.#listeners) listener(this.#recorder.consent, by);
  }
}
