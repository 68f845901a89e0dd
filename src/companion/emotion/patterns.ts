import { own } from "../../core/shape.ts";
import {
  type EmotionConfiguration,
  type Severity,
  severities,
  type Trigger,
} from "./configuration.ts";
import { type Word, wordsOf } from "./words.ts";

/** A pattern found in a text: the words from `from` to `to`, the last included. */
export interface Match {
  readonly trigger: Trigger;
  /** The position of the trigger in the configuration. */
  readonly order: number;
  readonly gravity: number;
  readonly from: number;
  readonly to: number;
}

interface Branch {
  readonly next: Map<string, Branch>;
  readonly ends: { readonly trigger: Trigger; readonly order: number; readonly gravity: number }[];
}

interface Trees {
  readonly exact: Branch;
  readonly folded: Branch;
}

const treesOf = new WeakMap<EmotionConfiguration, Trees>();

/**
 * Every pattern of the configuration that stands in the words, whole words in a row with nothing but
 * white space between them. In time that grows with the number of words, however many patterns.
 */
export function findPatterns(config: EmotionConfiguration, words: readonly Word[]): Match[] {
  let trees = treesOf.get(config);
  if (trees === undefined) {
    trees = plant(config);
    treesOf.set(config, trees);
  }
  const found: Match[] = [];
  for (let from = 0; from < words.length; from++) {
    climb(trees.exact, "exact", words, from, found);
    climb(trees.folded, "folded", words, from, found);
  }
  return found;
}

function climb(
  tree: Branch,
  form: "exact" | "folded",
  words: readonly Word[],
  from: number,
  found: Match[],
): void {
  let branch: Branch | undefined = tree;
  for (let to = from; to < words.length; to++) {
    const word = words[to];
    if (word === undefined || (to > from && !word.follows)) return;
    branch = branch.next.get(word[form]);
    if (branch === undefined) return;
    for (const end of branch.ends) found.push({ ...end, from, to });
  }
}

function plant(config: EmotionConfiguration): Trees {
  const trees: Trees = { exact: newBranch(), folded: newBranch() };
  config.triggers.forEach((trigger, order) => {
    const form = trigger.capsOnly ? "exact" : "folded";
    const severity: Severity = own(config.events, trigger.event)?.severity ?? "mild";
    const gravity = severities.indexOf(severity);
    for (const pattern of trigger.patterns) {
      let branch = trees[form];
      for (const word of wordsOf(pattern)) {
        const next = branch.next.get(word[form]) ?? newBranch();
        branch.next.set(word[form], next);
        branch = next;
      }
      // A pattern written twice ends here once.
      if (branch.ends.every((end) => end.trigger !== trigger)) {
        branch.ends.push({ trigger, order, gravity });
      }
    }
  });
  return trees;
}

function newBranch(): Branch {
  return { next: new Map(), ends: [] };
}
