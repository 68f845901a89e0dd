// Says where a parsed value is not what a format wants: by the place alone, never by the value, which
// may be what a person said.

import { isJsonObject } from "../../core/json.ts";

/** @returns the place that is wrong, or `undefined` when all is right. */
export type Shape = (value: unknown, place: string) => string | undefined;

export function that(isRight: (value: unknown) => boolean): Shape {
  return (value, place) => (isRight(value) ? undefined : place);
}

export function oneOf(...values: readonly unknown[]): Shape {
  return that((value) => values.includes(value));
}

export function orNull(shape: Shape): Shape {
  return (value, place) => (value === null ? undefined : shape(value, place));
}

export function list(shape: Shape, maxItems: number): Shape {
  return (value, place) => {
    if (!Array.isArray(value) || value.length > maxItems) return place;
    return firstWrong(value.map((item, index) => [shape, item, `${place}[${index}]`]));
  };
}

/** An object with at least these members; others may be there. */
export function members(shapes: Readonly<Record<string, Shape>>): Shape {
  return (value, place) => {
    if (!isJsonObject(value)) return place;
    const checks = Object.entries(shapes).map(([name, shape]): Checked => {
      const inner = place === "" ? name : `${place}.${name}`;
      return [shape, Object.hasOwn(value, name) ? value[name] : undefined, inner];
    });
    return firstWrong(checks);
  };
}

type Checked = readonly [shape: Shape, value: unknown, place: string];

function firstWrong(checks: readonly Checked[]): string | undefined {
  for (const [shape, value, place] of checks) {
    const wrong = shape(value, place);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

export const anyString = that((value) => typeof value === "string");
export const anyBoolean = that((value) => typeof value === "boolean");
export const anyNumber = that((value) => typeof value === "number" && Number.isFinite(value));
export const anyObject = that(isJsonObject);
export const anything = that((value) => value !== undefined);
/** A whole number from 0. */
export const anyCount = that((value) => Number.isSafeInteger(value) && (value as number) >= 0);

export function text(minLength: number, maxLength: number): Shape {
  return that((value) => {
    return typeof value === "string" && value.length >= minLength && value.length <= maxLength;
  });
}

export function matching(pattern: RegExp): Shape {
  return that((value) => typeof value === "string" && pattern.test(value));
}
