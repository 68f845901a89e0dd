// How a process gets its companion: it begins a run, or joins one that is up in another process.

import { ThroughlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { ActLog } from "./act-log.ts";
import type { Act, Happening, SharedRun } from "./acts.ts";
import { type Boot, boot, emotionsAtBoot } from "./boot.ts";
import type { EmotionConfiguration } from "./emotion/configuration.ts";
import type { EmotionState } from "./emotion/emotion.ts";
import { evolve } from "./emotion/emotion.ts";
import { newRuns } from "./failover.ts";
import { foldRead, type Life } from "./fold.ts";
import { gapBetween } from "./gap.ts";
import type { Leadership } from "./leader.ts";
import type { Left } from "./left.ts";
import type { CompanionPorts, CompanionSettings } from "./options.ts";
import { runsProjection } from "./runs.ts";
import { Uptime } from "./uptime.ts";

export interface Begun {
  readonly boot: Boot;
  readonly left: Left;
  readonly life: Life;
  /** Its emotions now. */
  readonly now: EmotionState;
  readonly isJoined: boolean;
  /** Absent where this process alone has the companion. */
  readonly log: ActLog | undefined;
  readonly leader: Leadership | undefined;
}

/** Begins a run: a restart. */
export async function comeUp(
  ports: CompanionPorts,
  options: CompanionSettings,
  left: Left,
  leader: Leadership | undefined,
): Promise<Begun> {
  const { clock, newId, storage } = ports;
  const config = options.emotions;
  const begun = await boot(ports, options, left);
  const state = emotionsAtBoot(config, begun, clock.now());
  let life: Life = { ...left.life, config, emotions: state, wokenAt: state.at };
  const alone = { boot: begun, left, isJoined: false, leader };
  if (leader === undefined) return { ...alone, life, now: state, log: undefined };
  const reading = begun.run.startedAt;
  const upActs = () =>
    runActs(begun, config, life.emotions).map((happening): Act => {
      return { ...happening, id: newId(), felt: life.emotions.at, at: clock.now(), reading };
    });
  let acts = upActs();
  const logs = storage.logs("", runsProjection);
  const log = left.log ?? (await ActLog.begin(logs, acts));
  while (left.log !== undefined && !(await log.append(acts))) {
    // A process that slept while the companion was down did something since.
    for (const { act } of (await log.readOn()) ?? []) if (act) life = foldRead(life, act).life;
    acts = upActs();
  }
  life = acts.reduce((each, act) => foldRead(each, act).life, life);
  return { ...alone, life, now: life.emotions, log };
}

/** Joins a run that is up in another process. */
export async function join(
  ports: CompanionPorts,
  _options: CompanionSettings,
  left: Left,
  leader: Leadership | undefined,
): Promise<Begun> {
  const { log, shared, life, saved } = left;
  if (log === undefined || shared === undefined) {
    const says = "another process has the companion, and what it stored cannot be read";
    throw new ThroughlineError(says, { code: "THROUGHLINE_UNAVAILABLE" });
  }
  const now = evolve(saved.state, gapBetween(saved.reading, { at: ports.clock.now() }).gapMs ?? 0);
  return { boot: joinRun(ports, shared, left), left, life, now, isJoined: true, log, leader };
}

/** What a log begins with, or a run in it: from there everything follows. */
export function runActs(
  boot: Boot,
  configuration: EmotionConfiguration,
  emotions: EmotionState,
): readonly Happening[] {
  const state = JSON.parse(JSON.stringify(emotions)) as JsonObject;
  const interrupted = boot.report.interrupted.slice(0, maxToldInterrupted);
  return [
    { kind: "up", shared: sharedRun(boot), configuration, state },
    ...interrupted.map(({ chatId, messageId }): Happening => {
      return { kind: "interrupted", chat: chatId, message: messageId };
    }),
  ];
}

/** Of those turns that a restart cut off, so many are in the log of acts. */
const maxToldInterrupted = 100;

/** The run as other processes know it; its interrupted turns are acts of their own. */
export function sharedRun({ run, began, report }: Boot): SharedRun {
  const { runId, startedAt, totalRuns } = run;
  return {
    run: { runId, startedAt, totalRuns },
    began: { runId: began.runId, startedAt: began.startedAt },
    report: { ...report, interrupted: [] },
  };
}

/** The run that is up in another process: nothing is written, and it is no restart. */
function joinRun(ports: CompanionPorts, shared: SharedRun, left: Left): Boot {
  const { began, report } = shared;
  const run = { ...shared.run, previous: undefined };
  const uptime = Uptime.sinceThen(ports.clock, began.startedAt.at);
  const { document, revision } = left;
  return { runs: newRuns(ports), run, began, report, uptime, document, revision };
}
