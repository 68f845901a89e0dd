import { aText, checkArgument } from "../options.ts";

export const intentTypes = ["greeting", "question", "command", "unknown"] as const;
export type IntentType = (typeof intentTypes)[number];

/** What kind of utterance it is, and how sure the rule is, from 0 to 1. */
export interface Intent {
  readonly type: IntentType;
  readonly confidence: number;
}

/**
 * Classifies what a person said by fixed rules of English, the first that fits. Decides nothing
 * about the turn: a label for working memory.
 */
export function parseIntent(text: string, companionName?: string): Intent {
  checkArgument(text, "text", aText);
  const trimmed = text.trim();
  if (trimmed === "") return { type: "unknown", confidence: 0 };
  if (isStopRequest(trimmed, companionName)) return { type: "command", confidence: 1 };
  const [first = "", second = "", third = "", fourth = ""] = words(trimmed);
  // `please`, or `can/could/will/would you [please]`, before an imperative verb.
  const isAsked = leadIns.has(first) && second === "you";
  const asked = third === "please" ? fourth : third;
  const verb = first === "please" ? second : isAsked ? asked : "";
  if (imperatives.has(verb)) return { type: "command", confidence: 0.9 };
  if (/[?\uff1f\u061f]$/.test(trimmed)) return { type: "question", confidence: 1 };
  if (greetings.has(first) || greetings.has(`${first} ${second}`)) {
    return { type: "greeting", confidence: 0.95 };
  }
  if (questionWords.has(first)) return { type: "question", confidence: 0.85 };
  if (imperatives.has(first)) return { type: "command", confidence: 0.75 };
  return { type: "unknown", confidence: 0.1 };
}

function list(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s*,\s*/));
}

const leadIns = list("can, could, will, would");

const greetings = list(`
  hello, hi, hey, hiya, howdy, greetings, yo, sup, good morning, good afternoon, good evening,
  good day, welcome back, what's up`);

const questionWords = list(`
  what, what's, when, when's, where, where's, which, who, who's, whom, whose, why, why's, how, how's`);

const imperatives = list(`
  add, answer, ask, be, begin, bring, calculate, call, cancel, change, check, choose, close, come,
  compare, continue, convert, count, create, dance, define, delete, describe, do, draw, exit, explain,
  find, finish, follow, forget, get, give, go, help, imagine, increase, keep, leave, let, list, listen,
  look, lower, make, move, mute, name, open, pause, pick, play, print, put, quit, raise, read, recite,
  recommend, record, reduce, remember, remind, remove, repeat, reset, restart, resume, run, save, say,
  search, send, set, show, shut, sing, skip, solve, speak, spell, start, stop, suggest, summarise,
  summarize, switch, take, talk, teach, tell, translate, try, turn, unmute, update, use, wait, wake,
  watch, write`);

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
  let stops = false;
  let isFirst = true;
  for (const word of words(utterance)) {
    if (isFirst && word === "goodbye") return true;
    isFirst = false;
    // Asked first, so that a companion called Exit can still be left.
    if (stopWords.has(word)) stops = true;
    else if (!fillers.has(word) && !isIn(word, companionName)) return false;
  }
  return stops;
}

const isIn = (word: string, name: string) => name !== "" && Array.from(words(name)).includes(word);

/**
 * The words of an utterance, one by one: runs of letters, digits, `'` and `-`, in lower case, without
 * a `'` or `-` at either end. Typographic apostrophes and full-width letters are their plain forms.
 */
function* words(text: string): Generator<string, void, undefined> {
  const runs = /[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}'\u2019-]*[\p{L}\p{M}\p{N}])?/gu;
  for (let found = runs.exec(text); found !== null; found = runs.exec(text)) {
    const [word] = found;
    const isPlain = /^[\0-\x7f]*$/.test(word); // as most are
    const plain = isPlain ? word : word.normalize("NFKC").replaceAll("\u2019", "'");
    yield plain.toLowerCase();
  }
}
