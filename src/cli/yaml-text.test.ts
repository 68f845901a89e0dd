import assert from "node:assert/strict";
import { test } from "node:test";
import { keyText, readYaml } from "./yaml-text.ts";

function valueIn(text: string): unknown {
  const yaml = readYaml(text);
  if ("problems" in yaml) assert.fail(JSON.stringify(yaml.problems));
  return yaml.value;
}

/** As `line: key: says`. */
function problemsIn(text: string): readonly string[] {
  const yaml = readYaml(text);
  if (!("problems" in yaml)) assert.fail("nothing is wrong with it");
  return yaml.problems.map(({ line, path, says }) => `${line}: ${keyText(path)}: ${says}`);
}

const values: readonly [text: string, value: unknown][] = [
  ["", null],
  ["# nothing\n", null],
  ["a: 1\nb: [x, 'y']", { a: 1, b: ["x", "y"] }],
  ["a: yes\nb: on\nc: true", { a: "yes", b: "on", c: true }],
  ["1: a\ntrue: b", { 1: "a", true: "b" }],
  ["a: &x { k: 1 }\nb: *x", { a: { k: 1 }, b: { k: 1 } }],
  ["%YAML 1.2\n---\na: yes", { a: "yes" }],
];
test("a text is plain data", () => {
  for (const [text, value] of values) assert.deepEqual(valueIn(text), value, text);
});

test("a key called __proto__ is a key as any other", () => {
  const value = valueIn("__proto__: { polluted: true }") as object;
  assert.deepEqual(Object.keys(value), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal("polluted" in {}, false);
});

const refused: readonly [text: string, problems: readonly (string | RegExp)[]][] = [
  ["a: 1\nb:\n  c: 1\n  c: 2\n", ["4: : contains a key twice"]],
  ["a: [{ b: 1, b: 2 }]\na: 1", ["1: : contains a key twice", "2: : contains a key twice"]],
  ["a: 1\n__proto__: 1\n__proto__: 2", ["3: : contains a key twice"]],
  ["a:\n\tb: 1", [/^2: : Tabs are not allowed/]],
  ['a: 1\nb: "x', [/^2: : Missing closing/]],
  ["a: 1\n---\nb: 2", ["2: : contains more than one document"]],
  ["a: 1\n? [b]\n: c", [/^2: : .*keys must be strings/]],
  ["a: !!python/object:os.system x", [/^1: : Unresolved tag/]],
  ["%YAML 1.1\n---\na: yes", ["1: : must be YAML 1.2"]],
  ["a: 1\nb: *c", [/^1: : Unresolved alias .*: c$/]],
  ["a: 1\nb: &b [*b]", ["1: : has an alias that refers to something that contains it"]],
];
test("a text that is wrong is refused with the line", () => {
  for (const [text, expected] of refused) {
    const problems = problemsIn(text);
    assert.equal(problems.length, expected.length, text);
    for (const [index, each] of expected.entries()) {
      if (typeof each === "string") assert.equal(problems[index], each);
      else assert.match(problems[index]!, each);
    }
  }
});

test("100 aliases are followed, one more is refused, and so are few that stand for very much", () => {
  const aliases = (count: number) => `a: &a 1\nb: [${Array(count).fill("*a").join(", ")}]`;
  assert.equal((valueIn(aliases(100)) as { b: unknown[] }).b.length, 100);
  const tooMany = ["1: : has more than 100 aliases, or aliases that expand to too much"];
  assert.deepEqual(problemsIn(aliases(101)), tooMany);
  const levels = ["a: &l0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"];
  for (let i = 1; i < 9; i++) levels.push(`l${i}: &l${i} [${Array(9).fill(`*l${i - 1}`)}]`);
  assert.deepEqual(problemsIn(levels.join("\n")), tooMany);
});

test("text nested 20,000 levels deep is refused, not thrown about", () => {
  assert.match(problemsIn("[".repeat(20_000)).join("\n"), /is nested too deeply/);
  assert.match(problemsIn("[".repeat(5_000) + "]".repeat(5_000)).join("\n"), /nested too deeply/);
});

test("the key of a place is written on one line, quoted where it is no plain word", () => {
  assert.equal(keyText(["triggers", 0, "patterns", 12]), "triggers[0].patterns[12]");
  assert.equal(keyText(["events", "a b\u001b"]), 'events."a b␛"');
});
