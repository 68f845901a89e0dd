import assert from "node:assert/strict";
import { test } from "node:test";
import { hideMath, showMath } from "./verbatim-math.ts";

for (const [text, formulas] of [
  ["so $a_1 * b_1 * c$ is", ["$a_1 * b_1 * c$"]],
  [
    "both \\(x_1\\) and \\[\n\\frac{a}{b} * c_2\n\\]",
    ["\\(x_1\\)", "\\[\n\\frac{a}{b} * c_2\n\\]"],
  ],
  ["$$\n\\int_0^1 x\\,dx\n$$", ["$$\n\\int_0^1 x\\,dx\n$$"]],
  [
    "\\begin{align*}\na &= b \\\\\n_c_\n\\end{align*}.",
    ["\\begin{align*}\na &= b \\\\\n_c_\n\\end{align*}"],
  ],
  ["$x$ is \\$5, $y$ too", ["$x$", "$y$"]],
  ["from $5 to $10, or 5 $ and 6 $", []],
  ["$5-$6 a piece", []],
  ["Small 5$, medium 10$.", []],
  ["5$ or 6$, not $x$", ["$x$"]],
  ["3$\\times$ four", ["$\\times$"]],
  ["$5, as in `$HOME` or `$PATH`", []],
  ["pay $5 for `code` or x$ now", []],
  ["it costs $5 and `$x$` is $y$", ["$y$"]],
  ["`$HOME` and `$PATH`, ``a ` $b$``", []],
  ["```sh\necho $a_b$ \\(c\\)\n\n$d$\n```\nthen $e$", ["$e$"]],
  ["- ~~~\n  $a$\n  ~~~\n\n$b$", ["$b$"]],
  ["```\n$a$ is not closed", []],
  ["$a\n\nb$ and \\(c\n\nd\\)", []],
  ["$$ is empty, $$ too", ["$$ is empty, $$"]],
  ["`$a` and $b$", ["$b$"]],
  ["a \\\\(b\\\\) is escaped", []],
  ["what is \ue0000\ue001 with $a$", []],
] as const) {
  test(`the formulas of ${JSON.stringify(text)}`, () => {
    const hidden = hideMath(text);
    assert.deepEqual(hidden.formulas, formulas);
    assert.equal(showMath(hidden.text, hidden.formulas), text);
  });
}

for (const sign of [
  "$",
  "$$",
  "$a",
  "`",
  "``a",
  "\\(",
  "\\begin{a}",
  "\\",
  "$a$",
  "\n```\n",
  "\n~~~",
]) {
  test(`a hundred thousand of ${JSON.stringify(sign)} take no time`, () => {
    const text = sign.repeat(100_000);
    const from = performance.now();
    const { text: hidden, formulas } = hideMath(text);
    assert.equal(showMath(hidden, formulas), text);
    assert.ok(performance.now() - from < 2_000);
  });
}
