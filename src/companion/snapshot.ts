import type { Boot } from "./boot.ts";
import type { ClockReading } from "./clock-reading.ts";
import { type CompanionDocument, emptyDocument, type SharedFields } from "./companion-document.ts";
import { type EmotionState, evolve } from "./emotion/emotion.ts";
import { toSeed } from "./emotion/stored-emotions.ts";
import { announceEveryMs, type Life } from "./life.ts";

/** The most servers of which the document knows the newest act: those that wrote it last. */
const maxWriters = 50;

/** What a document is made of. */
interface SnapshotParts {
  readonly boot: Boot;
  readonly life: Life;
  /** Its emotions now. */
  readonly now: EmotionState;
  readonly heartbeat: ClockReading;
  readonly shutdownClean: boolean;
  /** Present where servers share the companion: this process, and its newest act. */
  readonly writer: { readonly processId: string; readonly number: number } | undefined;
}

/** The document as it is to be written. @param last the one before, whose feelings are written again. */
export function snapshot(parts: SnapshotParts, last?: CompanionDocument): CompanionDocument {
  const { boot, life, now, heartbeat, shutdownClean, writer } = parts;
  const { document: left = emptyDocument, run, restarts, uptime } = boot;
  const { conversation, person, clients, told, config } = life;
  const emotions = last?.own.emotions ?? evolve(life.emotions, now.at - life.emotions.at);
  return {
    heartbeat,
    shutdownClean,
    startedAt: run.startedAt.at,
    runId: run.runId,
    uptimeMs: uptime.ms,
    totalRuns: run.totalRuns,
    emotions: toSeed(config, emotions),
    conversation,
    sleepState: life.sleep,
    person,
    own: {
      deliveries: { restarts, told: told === undefined ? {} : { "": told } },
      clients: [...clients.values()],
      conversationChats: conversation.map(({ chatId }) => chatId),
      emotions,
      saved: last === undefined ? heartbeat : last.own.saved,
      shared: writer && sharedFields(parts, writer),
      others: left.own.others,
    },
    isOriginal: false,
    others: left.others,
  };
}

function sharedFields(
  { boot, life, heartbeat }: SnapshotParts,
  { processId, number }: NonNullable<SnapshotParts["writer"]>,
): SharedFields {
  const { previousRunId, interrupted, quarantined } = boot.report;
  const { [processId]: _, ...others } = boot.document?.own.shared?.writers ?? {};
  const writers = [...Object.entries(others), [processId, number] as const];
  // Longer than it counts: another server may have a sighting still to store.
  const since = (heartbeat.at ?? 0) - 2 * announceEveryMs;
  return {
    writers: Object.fromEntries(writers.slice(-maxWriters)),
    report: { previousRunId, interrupted, quarantined },
    announced: wholeInstants([...life.announced].filter(([, at]) => at > since)),
    forgot: wholeInstants([...life.forgot]),
    wokenAt: Math.round(life.wokenAt),
    configuration: life.written,
  };
}

/** A clock of somebody's own may tell parts of a millisecond. */
function wholeInstants(of: readonly (readonly [string, number])[]): Record<string, number> {
  return Object.fromEntries(of.map(([name, at]) => [name, Math.round(at)]));
}
