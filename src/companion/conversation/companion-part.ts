import type { TurnHooks, TurnPart } from "../../core/extension.ts";
import type { Turn } from "../../core/turns/turn.ts";
import type { Companion } from "../companion.ts";
import type { SleepState } from "../companion-document.ts";
import type { Feeling } from "../emotion/feel.ts";
import { durationText } from "../gap.ts";
import { label } from "../quoted-lines.ts";
import type { RestartNotice } from "../restart-notices.ts";

/** What the companion lets the model know in a turn that begins with this notice. Changes nothing. */
export async function partOf(
  companion: Companion,
  notice: RestartNotice | undefined,
): Promise<TurnPart> {
  const instructions = await companion.facts();
  const mood = moodText(companion.emotions.spoken, companion.sleepState);
  return {
    instructions,
    notes: [`Your mood: ${mood}.`],
    context: notice?.text ?? "",
    acknowledged: notice?.run,
  };
}

/** The companion's part in one turn: what it lets the model know, and what the turn does to it. */
export function companionPart(
  companion: Companion,
  turn: Pick<Turn, "chatId" | "span">,
): TurnHooks {
  const { emotions, notices } = companion;
  const { chatId } = turn;
  let notice: RestartNotice | undefined;
  let thoughtEnds = () => {};
  return {
    async begun({ user, acknowledged }) {
      notice = await notices.begin(chatId, acknowledged, user.seq);
      turn.span.add({ restart: notice?.kind }); // it gets its span after this part of it is made
      const part = await partOf(companion, notice);
      thoughtEnds = emotions.think();
      return part;
    },
    ended(answer) {
      thoughtEnds();
      // The late answer of a period that has ended changes nothing in the one that continues; nor does
      // one without a word.
      const isAnswered = answer !== undefined && !answer.hidden && answer.content !== "";
      if (isAnswered && notice !== undefined) notices.delivered(chatId, notice);
    },
  };
}

/**
 * The mood as a model reads it: the word, then why. Sleep stands in place of the mood, and every open
 * wound is named: "happy and hurt, since abuse, 36 seconds ago".
 */
export function moodText(feeling: Feeling, sleepState: SleepState): string {
  const wounds = feeling.wounds.toSorted((a, b) => a.ageSeconds - b.ageSeconds);
  const word = sleepState === "asleep" ? "asleep" : feeling.mood;
  if (wounds.length > 0) return `${word} and hurt, since ${wounds.map(causeText).join(", and ")}`;
  const { cause } = feeling;
  return cause === undefined || word === "asleep" ? word : `${word}, since ${causeText(cause)}`;
}

function causeText({ event, ageSeconds }: { readonly event: string; readonly ageSeconds: number }) {
  const age = durationText({ gapMs: ageSeconds * 1_000, certainty: "certain" });
  return `${label(event) ?? "something"}, ${age} ago`;
}
