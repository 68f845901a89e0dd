import { boot, loopTick, save } from "./companion.ts";
import { bursts, paced } from "./crowd.ts";
import type { Figure } from "./figure.ts";
import { httpTurns } from "./http.ts";
import { memory } from "./memory.ts";
import { momentFigures } from "./moments.ts";
import { pageFigures } from "./page.ts";
import { postgresFigures } from "./postgres.ts";
import type { Run } from "./run.ts";
import { busyStarts, newestMessages, starts } from "./starts.ts";
import { steady } from "./steady.ts";
import { durableTurn, firstTurns, newChat, submittedTurn, unsyncedTurn } from "./turns.ts";
import { weight } from "./weight.ts";
import { writtenBytes } from "./written.ts";

type Measure = (run: Run) => Promise<readonly Figure[]>;

/** What can be measured, by group and by name. Without a name, the command line takes the group `storage`. */
export const catalogue: Readonly<Record<string, Readonly<Record<string, Measure>>>> = {
  storage: {
    weight,
    turn: durableTurn,
    first: firstTurns,
    unsynced: unsyncedTurn,
    new: newChat,
    submit: submittedTurn,
    crowd: bursts,
    steady,
    paced,
    bytes: writtenBytes,
    open: newestMessages,
    start: starts,
    busy: busyStarts,
    memory,
    http: httpTurns,
  },
  companion: { tick: loopTick, save, boot },
  moments: momentFigures,
  page: { page: pageFigures },
  postgres: postgresFigures,
};

/** What is also measured on a file system in memory, where the disk is not the noise. */
export const ofWrites = ["turn", "first", "unsynced", "new", "submit", "crowd"];
