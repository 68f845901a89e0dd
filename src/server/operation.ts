import { z } from "zod";
import type * as feedbackAnswers from "../moments/routes/feedback-answer-schemas.ts";
import type * as answers from "./answer-schemas.ts";

// Making code for a schema takes longer than all that it checks in a day of talk.
z.config({ jitless: true });

/**
 * One operation of the API: what it takes, what it answers, and its place in the description. What it
 * takes is made when it is first asked for: a start waits for none of it.
 */
export interface Operation<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
> {
  readonly method: "get" | "post" | "delete";
  /** With parameters as `{id}`. */
  readonly path: string;
  /** Never changed: clients are generated from it. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: () => Params;
  readonly query?: () => Query;
  /** JSON. What sends none sends `{}`. */
  readonly body?: () => Body;
  /** Takes bytes of one of these types instead: the work reads them from the request. */
  readonly bytes?: readonly string[];
  readonly headers?: () => z.ZodObject;
  /** By status; every other answer is a problem. */
  readonly answers: Readonly<Record<number, Answer>>;
}

/** Neither `schema` nor `types`: no body. */
export interface Answer {
  readonly says: string;
  /** Of the JSON, as the description has it. */
  readonly schema?: AnswerName;
  /** What it may come as instead: as text or bytes. A piece of a JSON document is bytes, too. */
  readonly types?: readonly string[];
}

export type AnyOperation = Operation<z.ZodObject, z.ZodObject, z.ZodType>;

/** The schema of an answer, by its name: it is made when the description is asked for. */
export type AnswerName = keyof typeof answers | keyof typeof feedbackAnswers;

/** What takes no parameters, no query, no body. */
export const nothing = () => z.strictObject({});
export type Nothing = ReturnType<typeof nothing>;

/** The schemas of what an operation takes. */
export function takenBy<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
>({ params, query, body }: Operation<Params, Query, Body>) {
  return {
    params: params?.() ?? nothing(),
    query: query?.() ?? nothing(),
    body: body?.() ?? nothing(),
  };
}
