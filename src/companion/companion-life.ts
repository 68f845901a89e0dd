import { errorName, invalid } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import { Lru } from "../core/lru.ts";
import type { BootClock } from "./boot-clock.ts";
import { type CompanionAct, feelAct, type SleepState } from "./companion-act.ts";
import type { CompanionDocument, ConversationMessage, PersonSeen } from "./companion-document.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import type { Feeling } from "./emotion/feel.ts";
import { type EmotionAct, type Felt, hasMoved, LiveEmotions } from "./live-emotions.ts";
import { cleanName } from "./quoted-lines.ts";

/** Something about the companion changed. */
export type CompanionChange =
  | { readonly type: "emotions"; readonly feeling: Feeling }
  | { readonly type: "person"; readonly person: PersonSeen }
  | { readonly type: "sleep"; readonly state: SleepState }
  | { readonly type: "welcomed"; readonly chatId: string };

/** How often the feelings are looked at for what watchers are told, and for sleep. */
const lookEveryMs = 1_000;
const boredEnoughToSleep = 0.8;
/** A face that was announced is not announced again before this. Source: the seed. */
const announceEveryMs = 30_000;
/** Faces that are remembered as announced; above that the oldest is forgotten. */
const maxAnnounced = 100;

export interface LifePorts {
  readonly clock: BootClock;
  readonly newId: NewId;
  readonly onFelt: (felt: Felt) => void;
  /** What was done here, once for each call, whatever else followed from it. */
  readonly onAct: (act: CompanionAct) => void;
  readonly onSaid: (chatId: string, message: ConversationMessage) => void;
  readonly logger: Logger;
  /** Something that is stored is another; `isUrgent`: a crash is not to lose it. */
  readonly changed: (isUrgent: boolean) => void;
}

export interface LifeOptions {
  readonly sleepAfterBoredMs: number;
}

/** How a companion lives from moment to moment: what is done to it, how it feels, whom it saw. */
export class CompanionLife {
  readonly emotions: LiveEmotions;
  readonly #ports: LifePorts;
  readonly #options: LifeOptions;
  readonly #listeners = new Set<(change: CompanionChange) => void>();
  #person: PersonSeen | undefined;
  /** When each face was announced last, by name, the oldest first. */
  readonly #announcedAt = new Lru<string, number>(maxAnnounced);
  #sleepState: SleepState;
  #lookAt: number;
  #told: Feeling | undefined;
  #boredSince: number | undefined;
  /** What is done now is one act already. */
  #isActing = false;

  constructor(
    ports: LifePorts,
    options: LifeOptions,
    from: {
      readonly config: EmotionConfiguration;
      readonly state: EmotionState;
      /** What the run before left. */
      readonly left: Pick<CompanionDocument, "person" | "sleepState"> | undefined;
    },
  ) {
    const { clock, newId, onFelt } = ports;
    this.#ports = ports;
    this.#options = options;
    if (from.left?.person) this.#takePerson(from.left.person);
    this.#sleepState = from.left?.sleepState === "asleep" ? "asleep" : "awake";
    const onAct = (act: EmotionAct) => this.#acted(act);
    this.emotions = new LiveEmotions({ clock, newId, onFelt, onAct }, from.config, from.state);
    this.#lookAt = clock.monotonic();
  }

  get person(): PersonSeen | undefined {
    return this.#person;
  }

  get sleepState(): SleepState {
    return this.#sleepState;
  }

  /** When it is to be looked at next, by the monotonic clock. */
  get lookAt(): number {
    return this.#lookAt;
  }

  /** Calls back at every change. @returns a function that ends it. */
  onChange(listener: (change: CompanionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Does something, and tells of it. */
  act(act: CompanionAct): void {
    this.perform(act);
    this.#acted(act);
  }

  /** Somebody was seen. @throws ThroughlineError `THROUGHLINE_INVALID`: that is no name. */
  see(name: string, at: number): PersonSeen {
    const clean = typeof name === "string" && name.length <= 256 ? cleanName(name) : undefined;
    if (clean === undefined) throw invalid("a person's name is text of 1 to 256 characters");
    this.act({ act: "seen", name: clean, at });
    return this.#person ?? { name: clean, seenAt: at };
  }

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: that is no state. */
  sleep(state: SleepState): void {
    if (state !== "awake" && state !== "asleep") {
      throw invalid("the sleep states are: awake, asleep");
    }
    this.act({ act: "sleep", state });
  }

  /** Does what was told of elsewhere. */
  perform(act: CompanionAct): void {
    const wasActing = this.#isActing;
    this.#isActing = true;
    try {
      this.#do(act);
    } finally {
      this.#isActing = wasActing;
    }
  }

  /** Goes on from what another process keeps. */
  adopt(from: {
    readonly state: EmotionState;
    readonly person: PersonSeen | undefined;
    readonly sleepState: string;
  }): void {
    this.emotions.adopt(from.state);
    const isNewer = (from.person?.seenAt ?? 0) > (this.#person?.seenAt ?? 0);
    if (from.person && isNewer) this.#takePerson(from.person);
    this.#setSleep(from.sleepState === "asleep" ? "asleep" : "awake");
    this.lookNow();
  }

  /** Whoever watches hears of it at the next pass. */
  lookNow(): void {
    this.#lookAt = this.#ports.clock.monotonic();
  }

  /** Tells watchers of feelings that moved enough, and falls asleep of boredom. */
  look(now: number): void {
    this.#lookAt = now + lookEveryMs;
    const feeling = this.emotions.feeling();
    const { publishThreshold } = this.emotions.configuration.settings;
    if (this.#told === undefined || hasMoved(this.#told, feeling, publishThreshold)) {
      this.#told = feeling;
      this.#tell({ type: "emotions", feeling });
    }
    this.#boredSince =
      feeling.boredom >= boredEnoughToSleep ? (this.#boredSince ?? now) : undefined;
    const { sleepAfterBoredMs } = this.#options;
    const isTired = this.#boredSince !== undefined && now - this.#boredSince >= sleepAfterBoredMs;
    if (sleepAfterBoredMs > 0 && isTired) this.#setSleep("asleep");
  }

  #acted(act: CompanionAct): void {
    if (!this.#isActing) this.#ports.onAct(act);
  }

  #do(act: CompanionAct): void {
    const { onSaid, changed } = this.#ports;
    if (act.act === "said") {
      onSaid(act.chat, { role: "USER", text: act.text, at: act.at });
      this.emotions.personSaid(act.text);
      this.#setSleep("awake");
    } else if (act.act === "replied") {
      onSaid(act.chat, { role: "ASSISTANT", text: act.text, at: act.at });
      changed(false);
      this.emotions.eventIfKnown("conversation_reply");
    } else if (act.act === "seen") this.#seen(act.name, act.at);
    else if (act.act === "sleep") this.#setSleep(act.state);
    else if (act.act === "welcomed") {
      changed(false);
      this.#tell({ type: "welcomed", chatId: act.chat });
    } else feelAct(this.emotions, act);
  }

  #seen(name: string, seenAt: number): void {
    this.#person = { name, seenAt };
    this.emotions.personActed();
    this.#setSleep("awake");
    const announcedAt = this.#announcedAt.peek(name);
    // The clocks of two processes may differ a little; one that was set must not silence a face.
    const isKnown = announcedAt !== undefined && Math.abs(seenAt - announcedAt) < announceEveryMs;
    if (isKnown) return;
    this.#noteAnnounced(name, seenAt);
    this.emotions.eventIfKnown("face_recognized");
    this.#ports.changed(true);
    this.#tell({ type: "person", person: this.#person });
  }

  /** Another process, or an earlier run, saw this person, and announced them then or before. */
  #takePerson(person: PersonSeen): void {
    this.#person = person;
    if (person.seenAt !== undefined) this.#noteAnnounced(person.name, person.seenAt);
  }

  #noteAnnounced(name: string, at: number): void {
    this.#announcedAt.set(name, at);
  }

  #setSleep(state: SleepState): void {
    // Who is woken stays awake for as long as it takes to fall asleep.
    if (state === "awake") this.#boredSince = undefined;
    if (this.#sleepState === state) return;
    this.#sleepState = state;
    this.#ports.changed(false);
    this.#tell({ type: "sleep", state });
  }

  #tell(change: CompanionChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // The loop, the turn, whoever changed something: none of them is to end with a watcher.
        this.#ports.logger.error(
          { change: change.type, error: errorName(error) },
          "a watcher failed",
        );
      }
    }
  }
}
