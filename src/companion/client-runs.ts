// The runs of programs that are not the server, such as a robot's: pure functions of what happened to them.

import { isoTime } from "../core/clock.ts";
import { flag, list, object, optional, type Read, text } from "../core/shape.ts";
import { type ClockReading, clockReading, judgeGap } from "./gap.ts";
import { joined, judgedRestart, judgeRestart } from "./restart.ts";
import { runIdOf } from "./runs.ts";

export const clientLimits = {
  clients: 100,
  chats: 10,
  injects: 20,
  name: 64,
  text: 8_000,
} as const;

const inject = object({ id: text(), text: text(), queuedAt: text() }, "left out");

/** A text that a client's model is to hear. */
export type Inject = Read<typeof inject>;

const clientRun = object(
  {
    client: text(),
    runId: ["run_id", text()],
    previousRunId: ["previous_run_id", optional(text())],
    startedAt: ["started", clockReading],
    /** The last sign of life: the beginning, a heartbeat, or the end. */
    heartbeat: clockReading,
    isEnded: ["ended", flag()],
    restart: judgedRestart,
    /** The restart that its model has not acknowledged, joined with those of earlier runs. */
    pending: optional(judgedRestart),
    /** The chats to which it appended in this run, the newest last. */
    chats: list(text()),
    /** The same in the last run before that appended anything. */
    chatsBefore: ["chats_before", list(text())],
    /** What its model is to hear, the oldest first. */
    injects: list(inject),
  },
  "left out",
);

/** The newest run of one client. */
export type ClientRun = Read<typeof clientRun>;

export const storedClients = list(clientRun);

/** A step of a run: `delivered` is its restart; `inject` one more text; `heard` are all up to the one of an id; `appended` is to a chat. */
export type ClientStep = "began" | "beat" | "ended" | "delivered" | "inject" | "heard" | "appended";

interface Step {
  readonly id: string;
  readonly at: number;
  readonly reading: ClockReading;
  readonly client: string;
  readonly text?: string | undefined;
}

const clientSteps: Readonly<
  Record<ClientStep, (run: ClientRun, step: Step) => Partial<ClientRun>>
> = {
  began: (run, step) => begun(step, run),
  beat: (_, { reading }) => ({ heartbeat: reading }),
  ended: (_, { reading }) => ({ heartbeat: reading, isEnded: true, injects: [] }),
  delivered: () => ({ pending: undefined }),
  inject: ({ injects }, { id, at, text = "" }) => ({
    injects: [...injects, { id, text, queuedAt: isoTime(at) }].slice(-clientLimits.injects),
  }),
  heard: ({ injects }, { text: last }) => ({
    injects: injects.slice(injects.findIndex(({ id }) => id === last) + 1),
  }),
  appended: ({ chats }, { text: chat = "" }) => ({
    chats: [...chats.filter((each) => each !== chat), chat].slice(-clientLimits.chats),
  }),
};

/**
 * The runs, in the order in which their clients were first named, after one more step. One that has ended can
 * begin, and have its restart delivered, and nothing else.
 */
export function stepped(
  runs: readonly ClientRun[],
  does: ClientStep,
  step: Step,
): readonly ClientRun[] {
  const known = runs.find(({ client }) => client === step.client);
  if (known === undefined) return does === "began" ? [...runs, begun(step)] : runs;
  if (known.isEnded && does !== "began" && does !== "delivered") return runs;
  const next = { ...known, ...clientSteps[does](known, step) };
  return runs.map((run) => (run === known ? next : run));
}

/** A run that begins. What a crash left unheard is still to hear. */
function begun({ client, id, reading }: Step, before?: ClientRun): ClientRun {
  const gap = judgeGap([before?.heartbeat], reading);
  const restart = judgeRestart(before?.isEnded, gap, (before?.restart.totalRuns ?? 0) + 1);
  const { pending, chats = [], chatsBefore = [], injects = [] } = before ?? {};
  const isUntold = pending !== undefined && pending.kind !== "fresh_start";
  return {
    client,
    runId: runIdOf(id),
    previousRunId: before?.runId,
    startedAt: reading,
    heartbeat: reading,
    isEnded: false,
    restart,
    pending: isUntold ? joined(pending, restart) : restart,
    chats: [],
    chatsBefore: chats.length > 0 ? chats : chatsBefore,
    injects,
  };
}
