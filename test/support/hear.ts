// What the words of a person cause, felt, as the companion does it in two steps.
import type { EmotionConfiguration } from "../../src/companion/emotion/configuration.ts";
import type { EmotionState } from "../../src/companion/emotion/emotion.ts";
import { causesOf, feelHeard } from "../../src/companion/emotion/triggers.ts";

export function hear(
  config: EmotionConfiguration,
  before: EmotionState,
  text: string,
  newId: () => string,
) {
  const causes = causesOf(config, before, text);
  const { state, felt } = feelHeard(config, before, [...causes.keys()], newId);
  const heard = felt.map(({ event, ...rest }) => {
    return { event, words: causes.get(event) ?? "", ...rest };
  });
  return { state, heard };
}
