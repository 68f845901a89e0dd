import type { Chats } from "../../core/chat/chats.ts";
import type { Clock } from "../../core/clock.ts";
import { checkArgument, having } from "../../core/options.ts";
import type { TranscriptMessage } from "../record/label.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";
import { limits } from "../record/ring.ts";
import { recentMs } from "../record/target-turn.ts";
import { transcriptMessage } from "./transcript.ts";

/** More than one companion talks with in two minutes. */
const maxChats = 10;
/** No answer comes so long after the last act of a person: older chats need not be read. */
const longestTurnMs = 3_600_000;

type Said = TranscriptMessage & { readonly atMs: number };

/**
 * Feeds the buffers with what chats hold in which something was said in the last two minutes, as if this
 * run had heard it: a pat right after a restart is about the answer before it. Pictures and sound of
 * that time are gone. To be called before anything is fed.
 *
 * @returns how many messages were kept: none without consent.
 * @throws what reading one of the chats threw, after the others were recalled.
 */
export async function recallWords(
  chats: Chats,
  recorder: MomentRecorder,
  clock: Clock,
): Promise<number> {
  checkArgument(chats, "chats", having("the chats of a Throughline", "list"));
  checkArgument(clock, "clock", having("a clock", "now"));
  const now = clock.now();
  const { chats: rows } = await chats.list({ limit: maxChats });
  const recent = rows.filter((row) => now - Date.parse(row.last_active) <= longestTurnMs);
  // One that cannot be read keeps no other from being recalled.
  const read = await Promise.allSettled(recent.map((row) => saidIn(chats, row.chat_id, now)));
  const said = read.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  said.sort((a, b) => a.atMs - b.atMs);
  let kept = 0;
  for (const { atMs, ...message } of said.slice(-limits.messages)) {
    if (recorder.message({ ...message, agoMs: Math.max(0, now - atMs) })) kept++;
  }
  for (const one of read) if (one.status === "rejected") throw one.reason;
  return kept;
}

/** The newest messages of a chat; none when the newest is old, or is of a time that is to come. */
async function saidIn(chats: Chats, chatId: string, now: number): Promise<readonly Said[]> {
  const { messages } = await chats.messages(chatId, { limit: limits.messages });
  const shown = messages.filter(({ hidden }) => !hidden);
  const said = shown
    .map((message) => transcriptMessage(chatId, message))
    .filter((message): message is Said => message.atMs !== undefined);
  const agoMs = now - (said.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY);
  return agoMs >= 0 && agoMs <= recentMs ? said : [];
}
