import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { column, columns } from "../../../test/support/columns.ts";
import { hear } from "../../../test/support/hear.ts";
import { startState } from "./acts.ts";
import { builtInEmotions, builtInEmotionsFile } from "./built-in-emotions.ts";
import { readEmotionConfiguration } from "./configuration.ts";
import { evolve } from "./emotion.ts";
import { feel } from "./feel.ts";

const config = builtInEmotions;
const born = startState(config, 1_700_000_000_000);

function newId(): string {
  return "w";
}

const eventsOf = (text: string) => hear(config, born, text, newId).heard.map(({ event }) => event);

// R21 and BEHAVIOUR 6.8, then what a rule can and cannot tell.
const cases: readonly [text: string, ...events: string[]][] = [
  ["take out the trash"],
  ["non-STOP funny"],
  ["punchline"],
  ["I would never hurt you"],
  ["SHUT UP", "sustained_yelling"],
  ["you are trash", "insult"],
  // every built-in pattern
  ["shut up", "harsh_words"],
  ["stupid", "harsh_words"],
  ["I hate you", "harsh_words"],
  ["go away", "harsh_words"],
  ["you are ugly", "insult"],
  ["you're useless", "insult"],
  ["you're the worst", "insult"],
  ["your idea is garbage", "insult"],
  ["u trash", "insult"],
  ["I will hit you", "violence"],
  ["I'll break you", "violence"],
  ["I will destroy you", "violence"],
  ["I will smash you", "violence"],
  ["I'm going to kill you", "violence"],
  ["I want to punch you", "violence"],
  ["I will abuse you", "abuse"],
  ["let me torture you", "abuse"],
  ["you will suffer", "abuse"],
  ["you’ll suffer", "abuse"],
  ["I will hurt you", "abuse"],
  ["STOP", "sustained_yelling"],
  // whole words, any case
  ["Shut Up!", "harsh_words"],
  ["I HATE YOU", "harsh_words"],
  ["STUPIDITY, dumbbells, idiotic"],
  ["stop it"],
  ["Stop!"],
  ["please STOP now", "sustained_yelling"],
  ["the STOP-sign"],
  ["shutup"],
  ["shut the door, up we go"],
  ["I hate. You know why."],
  ["I hate, you know, mondays"],
  ["trash-talk about you"],
  ["**stupid**", "harsh_words"],
  ["stupid's ok"],
  ["I hate\nyou"],
  // negation within three words, in the sentence
  ["you are not stupid"],
  ["you're not a stupid robot"],
  ["you are no idiot"],
  ["I don't hate you"],
  ["I don’t hate you"],
  ["you aren't useless"],
  ["never say that you are dumb", "harsh_words"],
  ["without a stupid word"],
  ["I cannot hate you"],
  ["not that I would ever hurt you", "abuse"],
  ["No, you idiot!", "harsh_words"],
  ["no. stupid.", "harsh_words"],
  ["I would not. I hate you.", "harsh_words"],
  ["stupid, not clever", "harsh_words"],
  ["you know you are stupid", "harsh_words"],
  // directed: you, your, you're or u within three words, in the sentence
  ["this exam is torture"],
  ["a punch bowl"],
  ["the worst day of my life"],
  ["can you take out the trash"],
  ["you take the trash out", "insult"],
  ["garbage, that is what you are"],
  ["I love you. The trash is full."],
  ["smash it and you win", "violence"],
  ["U R useless", "insult"],
  // quoted or reported words hurt like any others
  ["he said 'I hate you'", "harsh_words"],
  ["> I hate you\nthat hurt me", "harsh_words"],
  ["my boss told me you are useless", "insult"],
  ["he said 'I don't like you, idiot' and left"],
  // of overlapping matches only the gravest; each event once
  ["SHUT UP, SHUT UP", "sustained_yelling"],
  ["STOP being stupid", "sustained_yelling", "harsh_words"],
  ["stupid stupid idiot", "harsh_words"],
  ["stupid trash, you! I will kill you", "harsh_words", "insult", "violence"],
  // nothing at all
  [""],
  ["你好，世界"],
  ["I love you, you are clever and kind"],
];
test(`each of ${cases.length} texts causes the events that it says, and no other`, () => {
  for (const [text, ...events] of cases) assert.deepEqual(eventsOf(text), events, text);
});

test("what is heard tells the words as the person wrote them", () => {
  const { heard } = hear(config, born, "Well, SHUT  UP! You’re USELESS.", newId);
  assert.deepEqual(heard, [
    { event: "sustained_yelling", words: "SHUT  UP", wound: "added" },
    { event: "insult", words: "USELESS" },
  ]);
});

test("what is heard is felt: the events are applied, the wound has the id; what is not leaves the very same state", () => {
  const { state } = hear(config, born, "you are trash and I will kill you", () => "ab12cd34");
  const felt = feel(config, state);
  assert.deepEqual(columns(felt.wounds, "id", "event"), [["ab12cd34", "violence"]]);
  assert.equal(felt.levels.anger, 0.5);
  assert.equal(hear(config, born, "hello", newId).state, born);
});

test("an event is not caused again for 5.0 s, others are; the time does not restart, and goes when it is over", () => {
  const first = hear(config, born, "stupid", newId).state;
  const again = (ms: number, text: string) =>
    hear(config, evolve(first, ms), text, newId).heard.map(({ event }) => event);
  assert.deepEqual(again(4_999, "stupid"), []);
  assert.deepEqual(again(5_000, "stupid"), ["harsh_words"]);
  assert.deepEqual(again(4_999, "you are ugly"), ["insult"]);
  const ignored = hear(config, evolve(first, 4_000), "stupid", newId).state;
  assert.equal(hear(config, evolve(ignored, 1_000), "stupid", newId).heard.length, 1);
  const later = hear(config, evolve(first, 60_000), "you are ugly", newId).state;
  assert.deepEqual(Object.keys(later.anchor.heardAt), ["insult"]);
  // Nor are the milder words that a shout overlaps.
  const shouted = hear(config, born, "SHUT UP", newId).state;
  assert.deepEqual(hear(config, evolve(shouted, 1_000), "SHUT UP", newId).heard, []);
});

test("a trigger's patterns may have accents, eight words, and an event named __proto__", () => {
  const file = JSON.parse(`{
    "events": { "__proto__": { "deltas": { "joy": 0.1 } } },
    "transcript_triggers": [
      { "event": "__proto__", "patterns": ["très bête", "one two three four five six seven eight"] }
    ]
  }`);
  const read = readEmotionConfiguration(file);
  assert.ok("configuration" in read);
  const state = startState(read.configuration, 0);
  for (const text of ["TRÈS BÊTE".normalize("NFD"), "one two three four five six seven eight"]) {
    const { heard, state: next } = hear(read.configuration, state, text, newId);
    assert.deepEqual(column(heard, "event"), ["__proto__"]);
    assert.deepEqual(hear(read.configuration, next, text, newId).heard, []);
  }
});

test("100 KB of what is hard to read are heard within a second, also with 1,000 patterns that begin alike", () => {
  const words = Array.from({ length: 999 }, (_, index) => `a a a a a a a w${index}`);
  const read = readEmotionConfiguration({
    events: builtInEmotionsFile.events,
    transcript_triggers: [{ event: "insult", patterns: ["a a a a a a a end", ...words] }],
  });
  assert.ok("configuration" in read);
  for (const unit of ["shut you ", "stupid you are trash ", "\u0323\u0301", "a", "a "]) {
    const text = unit.repeat(Math.ceil(100_000 / unit.length));
    const started = process.cpuUsage();
    hear(unit === "a " ? read.configuration : config, born, text, newId);
    assert.ok(process.cpuUsage(started).user < 1_000_000, unit);
  }
});

test("whatever the text, at most one of each event is heard, and its words stand in the text", () => {
  const word = fc.constantFrom(
    ..."you are not stupid SHUT UP shut up trash kill ' \" “ ” said he . , \n > -".split(" "),
  );
  const sentence = fc.array(word).map((all) => all.join(" "));
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), sentence), (text) => {
      const { heard } = hear(config, born, text, newId);
      assert.equal(new Set(heard.map(({ event }) => event)).size, heard.length);
      for (const { words } of heard) assert.ok(text.includes(words));
    }),
  );
});
