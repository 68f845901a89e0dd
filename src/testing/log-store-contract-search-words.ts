import assert from "node:assert/strict";
import type { Clause } from "./contract.ts";
import { textCorpus } from "./corpus.ts";
import { chat, found, message, messageOfBytes, withLogs } from "./log-store-contract-fixtures.ts";

/** Proves which of some texts a query finds: those, and in any order. */
function finds(
  query: string,
  texts: readonly string[],
  {
    others = [],
    prefix,
  }: {
    readonly others?: readonly string[] | undefined;
    readonly prefix?: boolean | undefined;
  } = {},
) {
  return withLogs(async (log) => {
    const all = [...texts, ...others];
    await log.append(
      chat,
      all.map((text, index) => message(`m${index}`, text)),
    );
    const hits = await log.search(query, { limit: 100, prefix });
    const contents = hits.map((hit) => hit.record["content"]);
    assert.deepEqual(contents, [...texts].reverse());
  });
}

interface Match {
  readonly id: string;
  readonly says: string;
  readonly query: string;
  readonly texts: readonly string[];
  readonly others?: readonly string[] | undefined;
  readonly prefix?: boolean | undefined;
}

const matches: readonly Match[] = [
  {
    id: "word",
    says: "a word finds the records that hold it, at either end and beside punctuation",
    query: "violin",
    texts: ["violin", "a violin plays", "the violin.", "(violin)", "old-violin/new", "_violin_"],
    others: ["violins", "aviolin", "vio lin", "viola"],
  },
  {
    id: "case",
    says: "case does not matter",
    query: "ViOlin",
    texts: ["violin", "VIOLIN", "Violin"],
  },
  {
    id: "accents",
    says: "a query without accents finds the word with them, in either Unicode form",
    query: "cafe",
    texts: ["caf\u00e9", "cafe\u0301", "CAFÉ", "cafe", "çäfê"],
    others: ["caf", "coffee"],
  },
  {
    id: "accents-in-query",
    says: "a query with accents finds the word without them",
    query: "Žižek naïve",
    texts: ["zizek is naive", "NAI\u0308VE ŽIŽEK"],
    others: ["zizek", "naive"],
  },
  {
    id: "other-scripts",
    says: "case and accents do not matter in Greek, Cyrillic and Turkish either",
    query: "ΟΔΥΣΣΕΥΣ",
    texts: ["οδυσσευς", "Οδυσσεύς", "ὈΔΥΣΣΕΎΣ"],
  },
  { id: "sharp-s", says: "straße is strasse", query: "strasse", texts: ["Straße", "STRASSE"] },
  {
    id: "width",
    says: "full-width letters and half-width kana are the same words",
    query: "abc12",
    texts: ["ＡＢＣ１２", "abc12"],
  },
  {
    id: "every-word",
    says: "a query of several words finds the records that hold all of them, in any order",
    query: "green tea",
    texts: ["green tea", "tea, and it was green", "tea tea green"],
    others: ["green", "tea", "greentea"],
  },
  {
    id: "digits",
    says: "numbers are words",
    query: "42",
    texts: ["42", "room 42b 42", "4.42"],
    others: ["4", "2", "421", "4 2"],
  },
  {
    id: "cjk-1",
    says: "one Chinese character finds the texts that hold it",
    query: "京",
    texts: ["京", "北京", "东京都", "在北京吃饭"],
    others: ["北方", "jing"],
  },
  {
    id: "cjk-2",
    says: "two Chinese characters find the texts that hold them side by side",
    query: "北京",
    texts: ["北京", "在北京吃饭", "我爱北京"],
    others: ["京北", "北东京", "北", "京", "北 a 京"],
  },
  {
    id: "cjk-3",
    says: "three Japanese characters find the texts that hold them as a run",
    query: "たべる",
    texts: ["たべる", "おすしをたべるひと", "わたしはたべる。"],
    others: ["たべ", "べるた", "たべられる"],
  },
  {
    id: "katakana",
    says: "kana with their long mark and voicing marks match as they are",
    query: "サーバー",
    texts: ["サーバー", "新サーバー群", "ｻｰﾊﾞｰ"],
    others: ["サーハー", "サバ"],
  },
  {
    id: "katakana-run",
    says: "two katakana find the words that hold them side by side",
    query: "タカ",
    texts: ["カタカナ", "タカ"],
    others: ["カタナカ", "たか"],
  },
  {
    id: "hangul",
    says: "Korean matches by whole syllables",
    query: "국어",
    texts: ["한국어", "국어사전", "국어".normalize("NFD")],
    others: ["구어", "국아"],
  },
  {
    id: "cjk-and-latin",
    says: "Chinese and Latin words beside each other are words of their own",
    query: "usb 接口",
    texts: ["USB接口", "接口是USB的"],
    others: ["usb", "接口", "USB接触口"],
  },
  {
    id: "indic",
    says: "vowel signs belong to the word",
    query: "किताब",
    texts: ["किताब", "यह किताब है"],
    others: ["कताब"],
  },
  {
    id: "direction-marks",
    says: "invisible marks do not hide a word",
    query: "software",
    texts: ["\u200fsoftware\u200e", "soft\u00adware", "\ufeffsoftware", "\u202esoftware\u202c"],
  },
  {
    id: "emoji-beside",
    says: "an emoji beside a word does not hide it",
    query: "hello",
    texts: ["hello👋", "👩‍👧hello", "hello\ud83d", "\ude00hello"],
  },
  {
    id: "controls",
    says: "NUL, line breaks and separators stand between words",
    query: "hello there",
    texts: ["hello\0there", "hello\r\nthere", "hello\u2028there", "hello\u0085there"],
    others: ["hellothere"],
  },
  {
    id: "and",
    says: "AND is a word",
    query: "bread AND butter",
    texts: ["bread and butter"],
    others: ["bread butter"],
  },
  {
    id: "or",
    says: "OR is a word",
    query: "bread OR butter",
    texts: ["butter or bread"],
    others: ["bread", "butter"],
  },
  {
    id: "not",
    says: "NOT is a word",
    query: "bread NOT butter",
    texts: ["bread not butter"],
    others: ["bread"],
  },
];

/** With `prefix`, as while a person types. */
const beginnings: readonly Match[] = [
  {
    id: "prefix",
    says: "the last word is the beginning of a word",
    query: "vio",
    texts: ["vio", "violin", "A Viola plays", "vio lin", "(VIOLET)"],
    others: ["aviolin", "vi", "v i o"],
  },
  {
    id: "prefix-last",
    says: "only the last word is one, the others are whole",
    query: "green te",
    texts: ["green tea", "ten green bottles"],
    others: ["greenish tea", "green", "evergreen tea"],
  },
  {
    id: "prefix-of-run",
    says: "a run of words is one with the beginning of its last word",
    query: "e-mai",
    texts: ["e-mail", "E mails"],
    others: ["email", "mail e", "e my mail"],
  },
  {
    id: "prefix-ended",
    says: "a last word that white space ends is whole",
    query: "tea ",
    texts: ["tea", "green tea"],
    others: ["teapot"],
  },
  {
    id: "prefix-accents",
    says: "case and accents do not matter",
    query: "CAF",
    texts: ["caf\u00e9", "cafe\u0301s", "Cafeteria"],
    others: ["coffee"],
  },
  {
    id: "prefix-cjk",
    says: "Chinese characters match by any run, as ever",
    query: "北京",
    texts: ["北京", "在北京吃饭"],
    others: ["北", "京北"],
  },
].map((match) => ({ ...match, says: `with prefix ${match.says}`, prefix: true }));

/** Queries that would be operators or errors in a search language. Each is text here. */
const plainQueries: readonly (readonly [name: string, query: string])[] = [
  ["apostrophe", "don't"],
  ["near", "NEAR(tea coffee)"],
  ["near-open", "NEAR("],
  ["near-distance", "NEAR(tea coffee, 5)"],
  ["minus", "-tea"],
  ["plus", "+tea"],
  ["caret", "^tea"],
  ["column", "content:tea"],
  ["column-list", "{content key}:tea"],
  ["quote", '"tea'],
  ["two-quotes", '"tea"'],
  ["quotes-inside", 'te""a'],
  ["star", "tea*"],
  ["brackets", "(tea"],
  ["percent", "100%"],
  ["backslash", "tea\\"],
  ["semicolon", "tea; DROP TABLE records; --"],
  ["nul", "tea\0coffee"],
  ["lone-surrogate", "tea\ud800coffee"],
  ["tsquery", "tea & coffee | !milk <-> sugar:*"],
  ["regular-expression", "^t[e]a.*$"],
];

const nothing = ["", " ", " \t\n", '"', '""', "*", "-", "\0", "(", "%", "\ud800", "👋", "' '"];

/** What a query finds. */
export const searchWordClauses: readonly Clause[] = [
  ...[...matches, ...beginnings].map(
    ({ id, says, query, texts, others, prefix }): Clause => ({
      id: `log.search.${id}`,
      says: `search: ${says}`,
      proof: finds(query, texts, { others, prefix }),
    }),
  ),
  ...plainQueries.map(
    ([name, query]): Clause => ({
      id: `log.search.plain.${name}`,
      says: `search takes ${JSON.stringify(query)} as plain text`,
      proof: finds(query, [query, `before ${query} after`], { others: ["milk", "before after"] }),
    }),
  ),
  {
    id: "log.search.nothing",
    says: "a query without a letter or digit finds nothing",
    proof: withLogs(async (log) => {
      const texts = [...nothing, "tea"].map((text, index) => message(`m${index}`, text));
      await log.append(chat, texts);
      for (const query of nothing) assert.deepEqual(await found(log, query), [], query);
    }),
  },
  {
    id: "log.search.corpus",
    says: "a word beside any text of the corpus is found",
    proof: withLogs(async (log) => {
      const texts = textCorpus.map(({ name, text }) => message(name, `${text} violin ${text}`));
      await log.append(chat, texts);
      assert.deepEqual(await found(log, "violin"), textCorpus.map(({ name }) => name).reverse());
    }),
  },
  {
    id: "log.search.long",
    says: "the last word of a record of 1 MiB is found",
    proof: withLogs(async (log) => {
      const long = messageOfBytes("m1", 2 ** 20 - 100);
      await log.append(chat, [{ ...long, content: `${long["content"]} violin` }]);
      assert.deepEqual(await found(log, "violin"), ["m1"]);
    }),
  },
];
