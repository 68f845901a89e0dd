import assert from "node:assert/strict";
import { type Clause, clauseWithTable } from "../../../src/testing/contract.ts";
import { textCorpus } from "../../../src/testing/corpus.ts";
import {
  chat,
  found,
  message,
  messageOfBytes,
  withLogs,
} from "../../../src/testing/log-store-contract-fixtures.ts";

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
  /** The rule that the texts show. */
  readonly name: string;
  readonly query: string;
  readonly texts: readonly string[];
  readonly others?: readonly string[] | undefined;
  readonly prefix?: boolean | undefined;
}

const matches: readonly Match[] = [
  {
    name: "a word finds the records that hold it, at either end and beside punctuation",
    query: "violin",
    texts: ["violin", "a violin plays", "the violin.", "(violin)", "old-violin/new", "_violin_"],
    others: ["violins", "aviolin", "vio lin", "viola"],
  },
  {
    name: "a query without accents finds the word with them, in either Unicode form",
    query: "cafe",
    texts: ["caf\u00e9", "cafe\u0301", "CAFÉ", "cafe", "çäfê"],
    others: ["caf", "coffee"],
  },
  {
    name: "a query with accents finds the word without them",
    query: "Žižek naïve",
    texts: ["zizek is naive", "NAI\u0308VE ŽIŽEK"],
    others: ["zizek", "naive"],
  },
  {
    name: "case and accents do not matter in Greek, Cyrillic and Turkish either",
    query: "ΟΔΥΣΣΕΥΣ",
    texts: ["οδυσσευς", "Οδυσσεύς", "ὈΔΥΣΣΕΎΣ"],
  },
  { name: "straße is strasse", query: "strasse", texts: ["Straße", "STRASSE"] },
  {
    name: "full-width letters and half-width kana are the same words",
    query: "abc12",
    texts: ["ＡＢＣ１２", "abc12"],
  },
  {
    name: "a query of several words finds the records that hold all of them, in any order",
    query: "green tea",
    texts: ["green tea", "tea, and it was green", "tea tea green"],
    others: ["green", "tea", "greentea"],
  },
  {
    name: "numbers are words",
    query: "42",
    texts: ["42", "room 42b 42", "4.42"],
    others: ["4", "2", "421", "4 2"],
  },
  {
    name: "one Chinese character finds the texts that hold it",
    query: "京",
    texts: ["京", "北京", "东京都", "在北京吃饭"],
    others: ["北方", "jing"],
  },
  {
    name: "two Chinese characters find the texts that hold them side by side",
    query: "北京",
    texts: ["北京", "在北京吃饭", "我爱北京"],
    others: ["京北", "北东京", "北", "京", "北 a 京"],
  },
  {
    name: "three Japanese characters find the texts that hold them as a run",
    query: "たべる",
    texts: ["たべる", "おすしをたべるひと", "わたしはたべる。"],
    others: ["たべ", "べるた", "たべられる"],
  },
  {
    name: "kana with their long mark and voicing marks match as they are",
    query: "サーバー",
    texts: ["サーバー", "新サーバー群", "ｻｰﾊﾞｰ"],
    others: ["サーハー", "サバ"],
  },
  {
    name: "Korean matches by whole syllables",
    query: "국어",
    texts: ["한국어", "국어사전", "국어".normalize("NFD")],
    others: ["구어", "국아"],
  },
  {
    name: "Chinese and Latin words beside each other are words of their own",
    query: "usb 接口",
    texts: ["USB接口", "接口是USB的"],
    others: ["usb", "接口", "USB接触口"],
  },
  {
    name: "vowel signs belong to the word",
    query: "किताब",
    texts: ["किताब", "यह किताब है"],
    others: ["कताब"],
  },
  {
    name: "invisible marks do not hide a word",
    query: "software",
    texts: ["\u200fsoftware\u200e", "soft\u00adware", "\ufeffsoftware", "\u202esoftware\u202c"],
  },
  {
    name: "an emoji beside a word does not hide it",
    query: "hello",
    texts: ["hello👋", "👩‍👧hello", "hello\ud83d", "\ude00hello"],
  },
  {
    name: "NUL, line breaks and separators stand between words",
    query: "hello there",
    texts: ["hello\0there", "hello\r\nthere", "hello\u2028there", "hello\u0085there"],
    others: ["hellothere"],
  },
];

/** With `prefix`, as while a person types. */
const beginnings: readonly Match[] = [
  {
    name: "the last word is the beginning of a word",
    query: "vio",
    texts: ["vio", "violin", "A Viola plays", "vio lin", "(VIOLET)"],
    others: ["aviolin", "vi", "v i o"],
  },
  {
    name: "only the last word is one, the others are whole",
    query: "green te",
    texts: ["green tea", "ten green bottles"],
    others: ["greenish tea", "green", "evergreen tea"],
  },
  {
    name: "a run of words is one with the beginning of its last word",
    query: "e-mai",
    texts: ["e-mail", "E mails"],
    others: ["email", "mail e", "e my mail"],
  },
  {
    name: "a last word that white space ends is whole",
    query: "tea ",
    texts: ["tea", "green tea"],
    others: ["teapot"],
  },
].map((match) => ({ ...match, prefix: true }));

/** Queries that would be operators or errors in a search language. Each is text here. */
const plainQueries: readonly (readonly [name: string, query: string, other?: string])[] = [
  ["and", "bread AND butter", "bread butter"],
  ["or", "bread OR butter", "butter"],
  ["not", "bread NOT butter", "bread"],
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
  clauseWithTable(
    "search finds whole words, whatever their case, accents and script",
    matches,
    ({ query, texts, others }) => finds(query, texts, { others }),
  ),
  clauseWithTable(
    "with prefix the last word is the beginning of a word, unless white space ends it",
    beginnings,
    ({ query, texts, others, prefix }) => finds(query, texts, { others, prefix }),
  ),
  clauseWithTable(
    "search takes operators and other marks as plain text",
    plainQueries,
    ([, query, other = "milk"]) =>
      finds(query, [query, `before ${query} after`], { others: [other, "before after"] }),
  ),
  {
    says: "a query without a letter or digit finds nothing",
    proof: withLogs(async (log) => {
      const texts = [...nothing, "tea"].map((text, index) => message(`m${index}`, text));
      await log.append(chat, texts);
      for (const query of nothing) assert.deepEqual(await found(log, query), [], query);
    }),
  },
  {
    says: "a word beside any text of the corpus, and the last word of a record of 1 MiB, is found",
    proof: withLogs(async (log) => {
      const texts = textCorpus.map(({ name, text }) => message(name, `${text} violin ${text}`));
      const long = messageOfBytes("long", 2 ** 20 - 100);
      await log.append(chat, [...texts, { ...long, content: `${long["content"]} violin` }]);
      const names = ["long", ...textCorpus.map(({ name }) => name).reverse()];
      assert.deepEqual(await found(log, "violin"), names);
    }),
  },
];
