import assert from "node:assert/strict";
import type { LogStore } from "../storage/log-store.ts";
import type { Clause } from "./contract.ts";
import { textCorpus } from "./corpus.ts";
import {
  chat,
  contractProjection,
  found,
  message,
  messageOfBytes,
  messages,
  numbered,
  redaction,
  refuses,
  untyped,
  withLogs,
} from "./log-store-contract-fixtures.ts";

/** Proves which of some texts a query finds: those, and in any order. */
function finds(query: string, texts: readonly string[], others: readonly string[] = []) {
  return withLogs(async (log) => {
    const all = [...texts, ...others];
    await log.append(
      chat,
      all.map((text, index) => message(`m${index}`, text)),
    );
    const hits = await log.search(query, { limit: 100 });
    const contents = hits.map((hit) => hit.record["content"]);
    assert.deepEqual(contents, [...texts].reverse());
  });
}

interface Match {
  readonly id: string;
  readonly says: string;
  readonly query: string;
  readonly texts: readonly string[];
  readonly others?: readonly string[];
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

const words: readonly Clause[] = [
  ...matches.map(
    ({ id, says, query, texts, others }): Clause => ({
      id: `log.search.${id}`,
      says: `search: ${says}`,
      proof: finds(query, texts, others),
    }),
  ),
  ...plainQueries.map(
    ([name, query]): Clause => ({
      id: `log.search.plain.${name}`,
      says: `search takes ${JSON.stringify(query)} as plain text`,
      proof: finds(query, [query, `before ${query} after`], ["milk", "before after"]),
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

const order: readonly Clause[] = [
  {
    id: "log.search.newest-first",
    says: "the hits of one log come newest first",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea"), message("m2", "milk"), message("m3", "tea")]);
      await log.append(chat, [message("m4", "tea")]);
      assert.deepEqual(await found(log, "tea"), ["m4", "m3", "m1"]);
    }),
  },
  {
    id: "log.search.across-logs",
    says: "hits come in the order of the list of logs, and within a log newest first",
    proof: withLogs(async (log) => {
      const days = { a: "2026-03-01", b: "2026-03-03", c: "2026-03-02", d: "2026-03-02" };
      for (const [key, day] of Object.entries(days)) {
        const batch = [message(`${key}1`, "tea"), message(`${key}2`, "tea")];
        await log.append(key, batch, { head: { updated_at: day } });
      }
      const expected = ["b2", "b1", "c2", "c1", "d2", "d1", "a2", "a1"];
      assert.deepEqual(await found(log, "tea"), expected);
      await log.append("a", [message("a3", "milk")], { head: { updated_at: "2026-03-09" } });
      assert.deepEqual((await found(log, "tea")).slice(0, 3), ["a2", "a1", "b2"]);
    }),
  },
  {
    id: "log.search.limit",
    says: "a search answers at most as many hits as it is asked for, the first ones",
    proof: withLogs(async (log) => {
      const batch = Array.from({ length: 1_000 }, (_, index) => message(`m${index + 1}`, "tea"));
      await log.append(chat, batch);
      await log.append("telegram:4", batch);
      const hits = await log.search("tea", { limit: 3, key: chat });
      assert.deepEqual(
        hits.map((hit) => hit.record.seq),
        [1_000, 999, 998],
      );
      assert.equal((await log.search("tea", { limit: 1_000 })).length, 1_000);
      assert.equal((await log.search("tea", { limit: 1 })).length, 1);
    }),
  },
  {
    id: "log.search.hit",
    says: "a hit is the key and the record as it is stored",
    proof: withLogs(async (log) => {
      const given = message("m2", "green tea", { list: [{ a: 1 }] });
      await log.append(chat, [message("m1", "milk"), given]);
      const hit = { key: chat, record: { ...given, seq: 2 } };
      assert.deepEqual(await log.search("tea", { limit: 5 }), [hit]);
    }),
  },
  {
    id: "log.search.key",
    says: "a search of one log finds its records only",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea")]);
      await log.append("telegram:4", [message("m2", "tea")]);
      assert.deepEqual(await found(log, "tea", chat), ["m1"]);
      assert.deepEqual(await found(log, "tea", "telegram:4"), ["m2"]);
      assert.deepEqual(await found(log, "tea", "missing"), []);
    }),
  },
  {
    id: "log.search.invalid",
    says: "a query that is no text, a limit out of bounds and a bad key are refused",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea")]);
      for (const limit of [0, -1, 1_001, 0.5, Number.NaN, "1", undefined]) {
        await refuses("THROUGHLINE_INVALID", log.search("tea", untyped({ limit })));
        await refuses("THROUGHLINE_INVALID", log.search("", untyped({ limit })));
      }
      await refuses("THROUGHLINE_INVALID", log.search(untyped(7), { limit: 1 }));
      await refuses("THROUGHLINE_INVALID", log.search("tea", { limit: 1, key: "" }));
    }),
  },
];

async function twoTexts(log: LogStore): Promise<void> {
  await log.append(chat, [message("m1", "tea at five"), message("m2", "tea at six")]);
}

const hidden: readonly Clause[] = [
  {
    id: "log.search.no-text",
    says: "records without a text are not searched",
    proof: withLogs(async (log) => {
      await log.append(chat, [
        { id: "m1", kind: "session", title: "tea" },
        { id: "m2", content: { text: "tea" } },
        message("m3", "tea"),
      ]);
      assert.deepEqual(await found(log, "tea"), ["m3"]);
    }),
  },
  {
    id: "log.search.redacted",
    says: "a record that a later record hides is not found; it is still read as it was",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m1")]);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
      assert.deepEqual(await log.find(chat, "m1"), numbered([message("m1", "tea at five")])[0]);
    }),
  },
  {
    id: "log.search.redacted-in-batch",
    says: "a record that is hidden by a record of its own batch is not found",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea"), redaction("r1", "m1"), message("m2", "tea")]);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
    }),
  },
  {
    id: "log.search.redacted-in-its-log",
    says: "a record hides the record of its own log only",
    proof: withLogs(async (log) => {
      await log.append(chat, [message("m1", "tea")]);
      await log.append("telegram:4", [message("m1", "tea"), redaction("r1", "m1")]);
      const hits = await log.search("tea", { limit: 5 });
      assert.deepEqual(
        hits.map((hit) => hit.key),
        [chat],
      );
    }),
  },
  {
    id: "log.search.redacted-retry",
    says: "a hidden record that is appended again stays hidden",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m1")]);
      await twoTexts(log);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
    }),
  },
  {
    id: "log.search.redacted-unknown",
    says: "hiding a record that the log does not hold hides nothing",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m9"), redaction("r2", "r2")]);
      assert.deepEqual(await found(log, "tea"), ["m2", "m1"]);
    }),
  },
  {
    id: "log.search.erased",
    says: "an erased record is not found, by no word of it",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.erase(chat, ["m1"]);
      assert.deepEqual(await found(log, "tea"), ["m2"]);
      assert.deepEqual(await found(log, "five"), []);
      assert.deepEqual(await found(log, "erased"), []);
      assert.deepEqual(await found(log, "five", chat), []);
    }),
  },
  {
    id: "log.search.deleted",
    says: "a deleted log is not found, also when a new one has its key",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.delete(chat);
      assert.deepEqual(await found(log, "tea"), []);
      await log.append(chat, [message("m1", "milk")]);
      assert.deepEqual(await found(log, "tea", chat), []);
      assert.deepEqual(await found(log, "milk"), ["m1"]);
    }),
  },
  {
    id: "log.search.redaction-deleted",
    says: "a redaction goes with the log that held it",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      await log.append(chat, [redaction("r1", "m1")]);
      await log.delete(chat);
      await twoTexts(log);
      assert.deepEqual(await found(log, "tea"), ["m2", "m1"]);
    }),
  },
  {
    id: "log.search.refused",
    says: "what was refused is not found",
    proof: withLogs(async (log) => {
      await twoTexts(log);
      const other = [message("m3", "coffee"), message("m1", "other tea")];
      await refuses("THROUGHLINE_ID_CONFLICT", log.append(chat, other));
      const late = log.append(chat, [message("m3", "coffee")], { expectedSeq: 0 });
      await refuses("THROUGHLINE_CONFLICT", late);
      assert.deepEqual(await found(log, "coffee"), []);
    }),
  },
  {
    id: "log.search.at-once",
    says: "a record is found as soon as its append has resolved",
    proof: withLogs(async (log) => {
      for (const { id } of messages(1, 30)) {
        await log.append(chat, [message(id, `word${id}`)]);
        assert.deepEqual(await found(log, `word${id}`), [id]);
      }
    }),
  },
  {
    id: "log.search.of-its-collection",
    says: "a search finds the records of its collection only",
    proof: withLogs(async (log, storage) => {
      await storage.logs("runs", contractProjection).append(chat, [message("m1", "tea")]);
      assert.deepEqual(await found(log, "tea"), []);
    }),
  },
];

/** What search finds, in which order, and what it must not find. */
export const searchClauses: readonly Clause[] = [...words, ...order, ...hidden];
