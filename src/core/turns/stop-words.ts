import { aText, checkArgument } from "../options.ts";
import { words } from "./words.ts";

const stopWords: ReadonlySet<string> = new Set(["stop", "goodbye", "quit", "exit"]);
const fillers: ReadonlySet<string> = new Set([
  "please",
  "now",
  "ok",
  "okay",
  "thanks",
  "thank",
  "you",
]);

/**
 * Whether a person asks to end the conversation: nothing but stop words is left of the utterance
 * once punctuation, courtesies and the companion's name are taken away, or it begins with `goodbye`.
 * "Stop!", "ok, stop now please" and "goodbye my friend" do; "bus stop" and "stop talking about cats"
 * do not. Only ever for what a person said, never for an answer.
 */
export function isStopRequest(utterance: string, companionName = ""): boolean {
  checkArgument(utterance, "utterance", aText);
  const name = new Set(words(companionName));
  let isFirst = true;
  let stops = false;
  for (const word of words(utterance)) {
    if (isFirst && word === "goodbye") return true;
    isFirst = false;
    // Asked first, so that a companion called Exit can still be left.
    if (stopWords.has(word)) stops = true;
    else if (!fillers.has(word) && !name.has(word)) return false;
  }
  return stops;
}
