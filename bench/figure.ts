import type { Spread } from "./samples.ts";

/** One row of the result. */
export interface Figure {
  /** What was measured, against what. */
  readonly says: string;
  readonly ratio: number;
  /** The ratio is to be at most this. */
  readonly target?: number;
  /** The ratio is to be at least this. */
  readonly least?: number;
  /** Must hold beside the ratio: the row is missed where this is false. */
  readonly isRight?: boolean;
  /** What is behind it: percentiles of one contender, or a number. */
  readonly details?: Readonly<Record<string, Spread | number>>;
  /** What README says of it, if this is one of its two numbers. */
  readonly headline?: string;
}

export const ms = (value: number) => `${value.toFixed(3)} ms`;

/** Whether a figure meets its target, if it has one. */
export function verdictOf({ ratio, target, least, isRight = true }: Figure): string {
  if (target === undefined && least === undefined) return isRight ? "" : "MISSED";
  const isMet =
    ratio <= (target ?? Number.POSITIVE_INFINITY) && ratio >= (least ?? Number.NEGATIVE_INFINITY);
  return isMet && isRight ? "ok" : "MISSED";
}

/** A figure as lines of text. */
export function linesOf(name: string, figure: Figure): string {
  const { says, ratio, target, least, details = {} } = figure;
  const goal =
    target === undefined
      ? least === undefined
        ? ""
        : `(at least ${least})`
      : `(at most ${target})`;
  const first = [
    name.padEnd(10),
    ratio.toFixed(3).padStart(8),
    goal.padEnd(15),
    verdictOf(figure).padEnd(7),
    says,
  ];
  const rest = Object.entries(details).map(([label, value]) => {
    return `${" ".repeat(20)}${label}: ${typeof value === "number" ? short(value) : inWords(value)}`;
  });
  return [first.join(" "), ...rest].join("\n");
}

function inWords(spread: Spread): string {
  const parts = Object.entries(spread).map(([name, value]) => `${name} ${short(value)}`);
  return parts.join(", ");
}

const short = (value: number) =>
  Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
