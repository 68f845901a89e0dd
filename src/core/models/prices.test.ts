import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { costUsd, counted, type Price, priceOf, unknownUsage } from "./prices.ts";

const price: Price = { inputPerMillionUsd: 3, outputPerMillionUsd: 15 };
const withCache: Price = { ...price, cachedInputPerMillionUsd: 0.3 };

const rows: readonly [
  Price | undefined,
  number | undefined,
  number | undefined,
  number | undefined,
  number | undefined,
][] = [
  [undefined, 1_000, 1_000, undefined, undefined],
  [price, 1_000_000, 0, undefined, 3],
  [price, 0, 1_000_000, undefined, 15],
  [price, 1, 0, undefined, 0.000003],
  [price, undefined, 10, undefined, undefined],
  [{ inputPerMillionUsd: 0, outputPerMillionUsd: 0 }, 1_000, 1_000, undefined, 0],
  [price, 1_000, 0, 400, 0.003],
  [withCache, 1_000, 0, 400, 0.00192],
  [withCache, 100, 0, 400, 0.00012],
  [{ inputPerMillionUsd: 0.0005, outputPerMillionUsd: 0 }, 1, 0, undefined, 0.000000001],
  [{ inputPerMillionUsd: 0.0004, outputPerMillionUsd: 0 }, 1, 0, undefined, 0],
  [{ inputPerMillionUsd: 1.1, outputPerMillionUsd: 0 }, 3, 0, undefined, 0.0000033],
  [{ inputPerMillionUsd: 1e6, outputPerMillionUsd: 0 }, 10_000_000, 0, undefined, 10_000_000],
];
test("tokens cost what their price says, those of the cache too; without a price it is unknown", () => {
  for (const [cost, input, output, cached, usd] of rows) {
    assert.equal(costUsd(counted(input, output, cached), cost), usd);
  }
});

test("a cost is always a whole number of nano-dollars, within half of one of the exact product", () => {
  const tokens = fc.nat({ max: 10_000_000 });
  const micros = fc.nat({ max: 1_000_000_000 });
  fc.assert(
    fc.property(tokens, tokens, micros, micros, (input, output, inputMicros, outputMicros) => {
      const cost = costUsd(counted(input, output), {
        inputPerMillionUsd: inputMicros / 1e6,
        outputPerMillionUsd: outputMicros / 1e6,
      });
      const pico = BigInt(input) * BigInt(inputMicros) + BigInt(output) * BigInt(outputMicros);
      const nano = (pico + 500n) / 1000n;
      assert.equal(cost, Number(nano) / 1e9);
    }),
  );
});

test("a reported count that is none is unknown, and 0 of the cache is a count", () => {
  for (const bad of [-1, Number.NaN, 1.5, Number.POSITIVE_INFINITY]) {
    assert.deepEqual(counted(bad, bad, bad), unknownUsage);
  }
  assert.equal(counted(5, 5, 0).cachedInputTokens, 0);
});

test("a price is found by provider/model and by nothing that an object inherits", () => {
  assert.equal(priceOf({ "openai/gpt-5": price }, "openai", "gpt-5"), price);
  assert.equal(priceOf({ "openai/gpt-5": price }, "openai", "gpt-5-mini"), undefined);
  assert.equal(priceOf(undefined, "openai", "gpt-5"), undefined);
  const inherited = Object.create({ "openai/gpt-5": price });
  assert.equal(priceOf(inherited, "openai", "gpt-5"), undefined);
});

test("a price that is no number within its bounds is a configuration error that names the model", () => {
  for (const bad of [-0.1, Number.NaN, 1_000_001, "3"]) {
    const prices = { "openai/gpt-5": { ...price, cachedInputPerMillionUsd: bad as number } };
    assert.throws(() => priceOf(prices, "openai", "gpt-5"), {
      code: "THROUGHLINE_CONFIGURATION",
      message: /openai\/gpt-5/,
    });
  }
});
