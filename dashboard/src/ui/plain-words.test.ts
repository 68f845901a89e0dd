import assert from "node:assert/strict";
import { test } from "node:test";
import { plainWords } from "./plain-words.ts";

for (const [said, plain] of [
  ["I like **green** tea", "I like green tea"],
  ["# Tea\n\n- one\n- [ ] two\n> three", "Tea\n\none\ntwo\nthree"],
  ["***both*** and *one* and **a *nested* one**", "both and one and a nested one"],
  ["`code` and ~~gone~~ and [a link](https://example.org)", "code and gone and a link"],
  ['![a cat](https://a.example/c.png "Cat") here', "a cat here"],
  ["[![built](https://a.example/b.svg)](https://b.example) today", "built today"],
  ["see <https://example.org/a>", "see https://example.org/a"],
  ["_said_ and __said__, but not snake_case_name", "said and said, but not snake_case_name"],
  ["2 * 3 * 4, a_b and 5 - 3", "2 * 3 * 4, a_b and 5 - 3"],
  ["| a | b |\n| --- | --- |\n| 1 | 2 |", "a   b\n\n1   2"],
  ["```js\nlet x;\n```", "let x;"],
  ["A title that is **cut", "A title that is cut"],
  ["nothing", "nothing"],
  ["", ""],
] as const) {
  test(`${JSON.stringify(said)} is ${JSON.stringify(plain)} in plain words`, () => {
    assert.equal(plainWords(said), plain);
  });
}

for (const sign of ["*", "_", "`", "[", "~", "-", "# ", "> ", "|", "**a", "[a](", " "]) {
  test(`a hundred thousand of ${JSON.stringify(sign)} take no time`, () => {
    const from = performance.now();
    plainWords(sign.repeat(100_000));
    assert.ok(performance.now() - from < 2_000);
  });
}
