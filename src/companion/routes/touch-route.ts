import { isThroughlineError } from "../../core/errors.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { Router } from "../../server/router.ts";
import type { Companion } from "../companion.ts";
import type { AddWrite } from "./companion-routes.ts";
import { type CompanionRun, emotionsView, type OnPat } from "./companion-view.ts";
import { answer, touch } from "./schemas.ts";

/** What a model reads of a long pat (`pat_level2`). Source: the seed. */
const patText = "[Someone scratched your head. This probably means they liked what you just did.]";
/** The synthetic mark of a message that holds it: such a message is never judged. */
const patHintKind = "pat_hint";

/** Somebody touched the companion: it feels that, and its model may think about what it was for. */
export function addTouchRoute(
  router: Router,
  run: CompanionRun,
  addWrite: AddWrite,
  onPat: OnPat,
): void {
  /** Hints on their way, by chat: one at a time is enough. */
  const hints = new Map<string, Turn>();
  const { throughline } = router.ports;
  const { companion } = run;
  addWrite(
    {
      path: "/api/touch",
      id: "touch",
      body: touch,
      summary: "Report that a person touched the companion",
      description:
        "It is felt as `pat_level1` or `pat_level2`. A long one is also passed to the model: as an `inject` " +
        "event to each client with an open run, else in a turn of its own. It may say something, and " +
        "remember what was liked.",
      answers: answer("How it feels now, and whether the model hears of it.", "touched"),
    },
    async ({ level, chat_id: named }) => {
      if (named !== undefined) await throughline.chats.existing(named);
      const chatId = level === 2 ? (named ?? (await latestChat(router))) : undefined;
      const event = level === 1 ? "pat_level1" : "pat_level2";
      companion.sleep("awake");
      companion.emotions.personActed();
      companion.emotions.eventIfKnown(event);
      const recorded = level === 2 ? onPat(chatId) : undefined;
      const { hint, turn }: Hinted =
        (level === 2 ? await hintClients(companion) : undefined) ??
        (await hintModel(router, hints, chatId));
      return {
        event,
        state: emotionsView(run),
        hint,
        chat_id: chatId ?? null,
        turn_id: turn?.id ?? null,
        recorded: recorded ?? null,
      };
    },
  );
}

async function latestChat({ ports }: Router): Promise<string | undefined> {
  const { chats } = await ports.throughline.chats.list({ limit: 1 });
  return chats[0]?.chat_id;
}

interface Hinted {
  readonly hint: "told" | "sent" | "pending" | "none";
  readonly turn?: Turn;
}

/** `undefined`: no client has an open run. */
async function hintClients({ clients }: Companion): Promise<Hinted | undefined> {
  if (clients.allOpen.length === 0) return undefined;
  const untold = clients.allOpen.filter(
    ({ injects }) => !injects.some(({ text }) => text === patText),
  );
  for (const { client } of untold) await clients.inject(client, patText);
  return { hint: untold.length > 0 ? "sent" : "pending" };
}

async function hintModel(
  { ports }: Router,
  hints: Map<string, Turn>,
  chatId: string | undefined,
): Promise<Hinted> {
  if (chatId === undefined || (await isOffline(ports, chatId))) return { hint: "none" };
  const pending = hints.get(chatId);
  if (pending !== undefined) return { hint: "pending", turn: pending };
  try {
    const turn = ports.turns.submit(chatId, { content: patText, synthetic: patHintKind });
    hints.set(chatId, turn);
    const over = () => hints.delete(chatId);
    ports.track(turn.done.then(over, over));
    return { hint: "told", turn };
  } catch (error) {
    // It was felt; too much is being said for a word about it.
    if (isThroughlineError(error, "THROUGHLINE_BUSY")) return { hint: "none" };
    throw error;
  }
}

/** Whether there is no model that could make anything of a hint. */
async function isOffline({ throughline, turns }: Router["ports"], chatId: string) {
  const { head } = await throughline.chats.existing(chatId);
  const own = head.session?.provider ?? "offline";
  return (own === "offline" ? turns.standard.provider : own) === "offline";
}
