import { type Clock, isoTime } from "../core/clock.ts";
import { invalid } from "../core/errors.ts";
import type { NewId } from "../core/ids.ts";
import { type Logger, thrown } from "../core/logger.ts";
import type { ClientRuns } from "./client-runs.ts";
import { readClock } from "./clock-reading.ts";
import type { PersonSeen } from "./companion-document.ts";
import { type EmotionState, lastInstant } from "./emotion/emotion.ts";
import type { Feeling } from "./emotion/feel.ts";
import { type Act, type Folded, fold, type Happening, type Life, type SleepState } from "./life.ts";
import { type Felt, hasMoved, LiveEmotions } from "./live-emotions.ts";
import { cleanName } from "./quoted-lines.ts";

/** Something about the companion changed. */
export type CompanionChange =
  | { readonly type: "emotions"; readonly feeling: Feeling }
  | { readonly type: "person"; readonly person: PersonSeen }
  | { readonly type: "sleep"; readonly state: SleepState }
  /** A client has another text to hear, or fewer. */
  | { readonly type: "injects" }
  | { readonly type: "acknowledged"; readonly chatId: string };

/** How often the feelings are looked at to notify watchers, and for sleep. */
const lookEveryMs = 1_000;
const boredEnoughToSleep = 0.8;

interface LifePorts {
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  /** Somebody set the wall clock: the history of moods goes by it. */
  readonly onFelt: (felt: Felt) => void;
  /** Something happened here. */
  readonly onAct: (act: Act, folded: Folded, before: Life) => void;
  /** Falls asleep after boredom for this long. */
  readonly sleepAfterBoredMs: number;
}

/** The companion from moment to moment: what happens to it, how it feels, and who is notified. */
export class LivingCompanion {
  readonly emotions: LiveEmotions;
  readonly #ports: LifePorts;
  readonly #listeners = new Set<(change: CompanionChange) => void>();
  #life: Life;
  #lookAt: number;
  #published: Feeling | undefined;
  #boredSince: number | undefined;

  /** @param now its emotions now: as in `life`, and time has passed. */
  constructor(ports: LifePorts, life: Life, now: EmotionState) {
    const { clock, onFelt } = ports;
    this.#ports = ports;
    this.#life = life;
    const act = (happening: Happening) => this.act(happening).felt;
    this.emotions = new LiveEmotions({ clock, onFelt, act }, life.config, now);
    this.#lookAt = clock.monotonic();
  }

  /** As its acts made it. */
  get life(): Life {
    return this.#life;
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

  /** Somebody was seen. @throws ThroughlineError `THROUGHLINE_INVALID`: that is no name. */
  see(name: string): PersonSeen {
    const clean = typeof name === "string" && name.length <= 256 ? cleanName(name) : undefined;
    if (clean === undefined) throw invalid("a person's name is text of 1 to 256 characters");
    this.act({ kind: "seen", name: clean });
    return this.#life.person ?? { name: clean, seenAt: this.#ports.clock.now() };
  }

  /** @throws ThroughlineError `THROUGHLINE_INVALID`: that is no state. */
  sleep(state: SleepState): void {
    if (state !== "awake" && state !== "asleep") {
      throw invalid("the sleep states are: awake, asleep");
    }
    this.act({ kind: "sleep", state });
  }

  /** Something happens here. @throws as `fold` does. */
  act(happening: Happening): Folded & { readonly act: Act } {
    const before = this.#life;
    const act = this.#newAct(happening);
    const folded = fold(before, act);
    this.become(folded.life);
    this.#ports.onAct(act, folded, before);
    return { ...folded, act };
  }

  #newAct(happening: Happening): Act {
    const { clock, newId } = this.#ports;
    const reading = readClock(clock);
    const felt = Math.min(this.emotions.state.at, lastInstant);
    return { ...happening, id: newId(), felt, at: clock.now(), reading };
  }

  /** Continues as acts made it, and tells watchers of what that changed. */
  become(next: Life): void {
    const before = this.#life;
    this.#life = next;
    const { config, emotions } = next;
    if (emotions !== before.emotions || config !== before.config) {
      this.emotions.become(config, emotions);
    }
    if (next.wokenAt !== before.wokenAt) this.#boredSince = undefined;
    const { person, sleep } = next;
    const announcedAt = person && next.announced.get(person.name);
    if (person && announcedAt !== undefined && announcedAt !== before.announced.get(person.name)) {
      this.publish({ type: "person", person });
    }
    if (sleep !== before.sleep) this.publish({ type: "sleep", state: sleep });
    if (next.clients !== before.clients) this.publish({ type: "injects" });
  }

  /** Takes back what happened to a client's run, unless more happened to it since. */
  takeBack(client: string, before: ClientRuns, after: ClientRuns): void {
    const life = this.#life;
    if (life.clients.get(client) !== after.get(client)) return;
    const run = before.get(client);
    const clients = new Map(life.clients);
    if (run === undefined) clients.delete(client);
    else clients.set(client, run);
    this.become({ ...life, clients });
  }

  /** Watchers are told at the next pass. */
  lookNow(): void {
    this.#lookAt = this.#ports.clock.monotonic();
  }

  /** Tells watchers of feelings that moved enough, and falls asleep of boredom. */
  look(now: number): void {
    this.#lookAt = now + lookEveryMs;
    const feeling = this.emotions.feeling();
    const { publishThreshold } = this.emotions.configuration.settings;
    if (this.#published === undefined || hasMoved(this.#published, feeling, publishThreshold)) {
      this.#published = feeling;
      this.publish({ type: "emotions", feeling });
    }
    this.#boredSince =
      feeling.boredom >= boredEnoughToSleep ? (this.#boredSince ?? now) : undefined;
    const { sleepAfterBoredMs } = this.#ports;
    const isTired = this.#boredSince !== undefined && now - this.#boredSince >= sleepAfterBoredMs;
    if (sleepAfterBoredMs > 0 && isTired && this.#life.sleep === "awake") {
      this.act({ kind: "sleep", state: "asleep" });
    }
  }

  publish(change: CompanionChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // Neither the loop nor a turn is to end with a watcher.
        this.#ports.logger.error({ change: change.type, ...thrown(error) }, "a watcher failed");
      }
    }
  }
}

/** What an act made felt, as the history of moods keeps it; `undefined`: nothing. */
export function feltBy(
  { at }: Act,
  { felt, life: { emotions: state, config } }: Folded,
  before: Life,
): Felt | undefined {
  if (state.anchor === before.emotions.anchor) return undefined;
  const events = felt.map((event) => ({ at: isoTime(at), ...event }));
  return { at: isoTime(at), state, config, events };
}
