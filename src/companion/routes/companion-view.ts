// The companion as it goes over the wire: the seeds' names, seconds where the seeds have them.
import { isoTime } from "../../core/clock.ts";
import type { ClientRun } from "../client-runs.ts";
import type { FactsFile } from "../commands/facts-file.ts";
import type { Companion } from "../companion.ts";
import type { PersonSeen } from "../companion-document.ts";
import { eachLevel, moods } from "../emotion/emotion.ts";
import type { Feeling } from "../emotion/feel.ts";
import type { RestartReport } from "../restart.ts";
import type { ShownNotice } from "../restart-notices.ts";

export interface CompanionRun {
  readonly companion: Companion;
  /** What is wrong with the emotions that somebody wrote. */
  readonly emotionWarnings: () => readonly string[];
  /** Reads them again. @returns what is wrong with them: then those in force stay. */
  readonly reloadEmotions: () => readonly string[];
  /** The facts to remember, where people may read and edit them. */
  readonly facts?: FactsFile | undefined;
}

/** Called for a long pat in a chat. @returns the name of what was recorded of it. */
export type OnPat = (chatId: string | undefined) => string | undefined;

type ShownRun = Pick<
  Companion,
  "report" | "runId" | "startedAt" | "uptimeMs" | "person" | "sleepState"
>;

export function runView(companion: ShownRun) {
  const { report, runId, startedAt, uptimeMs, person, sleepState } = companion;
  const { kind, ...restart } = reportView(report);
  return {
    session_id: runId,
    restart_type: kind,
    ...restart,
    uptime: tenths(uptimeMs),
    session_start: startedAt / 1_000,
    sleep_state: sleepState,
    ...personView(person),
  };
}

/** The run of a client, as that of the companion is shown. */
export function clientView({ clients, person, sleepState }: Companion, run: ClientRun) {
  const { client, runId, previousRunId, restart, startedAt } = run;
  const report = { ...restart, previousRunId, interrupted: [], quarantined: 0 };
  const shown = { report, runId, startedAt: startedAt.at ?? 0, person, sleepState };
  const uptimeMs = clients.upMs(run);
  const injects = run.injects.map(({ id }) => id);
  return { client, ended: run.isEnded, injects, ...runView({ ...shown, uptimeMs }) };
}

export function reportView(report: RestartReport) {
  const { kind, clean, certainty, gapMs, totalRuns, previousRunId, quarantined } = report;
  return {
    kind,
    clean,
    certainty,
    quarantined,
    total_sessions: totalRuns,
    elapsed: gapMs === undefined ? null : tenths(gapMs),
    previous_session_id: previousRunId ?? null,
    interrupted_turns: report.interrupted.map(({ chatId, messageId }) => {
      return { chat_id: chatId, message_id: messageId };
    }),
  };
}

export function deliveryView({ chatId, kind, status, text, at }: ShownNotice) {
  return { chat_id: chatId, kind, status, text, parts: ["session"], at: at ?? null };
}

export function personView(person: PersonSeen | undefined) {
  return {
    last_person_seen: person?.name ?? null,
    last_person_seen_time: person?.seenAt === undefined ? null : person.seenAt / 1_000,
  };
}

export function feelingView({ emotions, sleepState }: Companion, feeling: Feeling) {
  const { levels, boredom, wounds, mood, override, voiceState } = feeling;
  return {
    levels,
    boredom: Math.round(boredom * 1_000) / 1_000,
    mood,
    voice_state: voiceState,
    wounds: wounds.map(({ id, event, floors, durationMs, ageSeconds, healing, healsInMs }) => ({
      id,
      event,
      floors,
      duration: durationMs / 1_000,
      healing,
      age: Math.round(ageSeconds * 10) / 10,
      heals_in: healsInMs === null ? null : healsInMs / 1_000,
    })),
    mood_override:
      override === undefined
        ? null
        : { mood: override.mood, until: isoTime(emotions.wallTime(override.until)) },
    mood_cause: causeView(feeling),
    sleep_state: sleepState,
  };
}

/** An open wound explains a mood before anything else does. */
function causeView({ wounds, cause }: Feeling) {
  const newest = wounds.toSorted((a, b) => a.ageSeconds - b.ageSeconds)[0] ?? cause;
  if (newest === undefined) return null;
  return { event: newest.event, age: Math.round(newest.ageSeconds * 10) / 10 };
}

export function emotionsView({ companion, emotionWarnings }: CompanionRun) {
  const { configuration } = companion.emotions;
  const { events, triggers } = configuration;
  const names = Object.keys(events);
  return {
    ...feelingView(companion, companion.emotions.feeling()),
    baselines: eachLevel((emotion) => configuration.emotions[emotion].baseline),
    events: names,
    event_severity: Object.fromEntries(names.map((name) => [name, events[name]?.severity])),
    moods: [...moods],
    triggers: [...new Set(triggers.map(({ event }) => event))],
    warnings: [...emotionWarnings()],
  };
}

function tenths(ms: number): number {
  return Math.round(Math.max(0, ms) / 100) / 10;
}
