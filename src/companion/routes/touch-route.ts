import { z } from "zod";
import { isThroughlineError } from "../../core/errors.ts";
import type { Turn } from "../../core/turns/turn.ts";
import { patHintKind, patText } from "../../moments/record/skills.ts";
import type { Router } from "../../server/router.ts";
import { emotionsView } from "./companion-view.ts";
import type { CompanionWrites } from "./companion-writes.ts";

const touch = () =>
  z
    .strictObject({
      level: z
        .union([z.literal(1), z.literal(2)], "must be 1 or 2")
        .meta({ description: "1: a light pat; 2: a long one, a scratch of the head." }),
      chat_id: z
        .string()
        .min(1)
        .max(1_024)
        .optional()
        .meta({ description: "If absent, the chat in which a person acted last." }),
    })
    .meta({ id: "Touch" });

/** Somebody touched the companion: it feels that, and its model may think about what it was for. */
export function addTouchRoute(router: Router, writes: CompanionWrites): void {
  /** Hints that are on their way, by chat: one at a time says all that there is to say. */
  const hints = new Map<string, Turn>();
  const { throughline, moments } = router.ports;
  writes.add(
    {
      ...{ path: "/api/touch", id: "touch", body: touch },
      summary: "Somebody touched the companion",
      description:
        "It is felt as `pat_level1` or `pat_level2`. Of a long one the model is told, in a turn of its " +
        "own: it may say something, and remember what was liked.",
      answers: { 200: { says: "How it feels now, and who was told.", schema: "touched" } },
    },
    async ({ level, chat_id: named }, run) => {
      if (named !== undefined) await throughline.chats.log.existing(named);
      const chatId = level === 2 ? (named ?? (await latestChat(router))) : undefined;
      const { companion } = run;
      const event = level === 1 ? "pat_level1" : "pat_level2";
      companion.wake();
      companion.emotions.personActed();
      companion.emotions.eventIfKnown(event);
      const recorded = level === 2 ? moments?.happened({ kind: "pat" }, chatId) : undefined;
      const told = await tellModel(router, hints, chatId);
      return {
        ...{ event, state: emotionsView(run), hint: told.hint },
        ...{ chat_id: chatId ?? null, turn_id: told.turn?.id ?? null },
        recorded: recorded?.accepted === true ? recorded.name : null,
      };
    },
  );
}

async function latestChat({ ports }: Router): Promise<string | undefined> {
  const { chats } = await ports.throughline.chats.list({ limit: 1 });
  return chats[0]?.chat_id;
}

interface Told {
  readonly hint: "told" | "pending" | "none";
  readonly turn?: Turn;
}

async function tellModel(
  { ports }: Router,
  hints: Map<string, Turn>,
  chatId: string | undefined,
): Promise<Told> {
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

/** Nobody is there who could make anything of a hint. */
async function isOffline(
  { throughline, turns }: Router["ports"],
  chatId: string,
): Promise<boolean> {
  const { head } = await throughline.chats.log.existing(chatId);
  const own = head.session?.provider ?? "offline";
  return (own === "offline" ? turns.standard.provider : own) === "offline";
}
