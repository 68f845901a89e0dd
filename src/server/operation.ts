import { z } from "zod";

// Making code for a schema takes longer than all that it checks in a day of talk.
z.config({ jitless: true });

/**
 * One operation of the API: what it takes, what it answers, and its place in the description. Its schemas
 * are made when they are first needed: a start waits for none of them.
 */
export interface Operation<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With parameters as `{id}`. */
  readonly path: string;
  /** Never changed: clients are generated from it. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string | undefined;
  readonly params?: () => Params;
  readonly query?: () => Query;
  /** JSON. What sends none sends `{}`. */
  readonly body?: () => Body;
  /**
   * Takes a form too (`multipart/form-data`): the fields of the body as its text parts, and files as parts that
   * are called `file`. The value is what stands for fields that a form leaves out.
   */
  readonly form?: Readonly<Record<string, string>>;
  /** Takes bytes of one of these types instead: the work reads them from the request. */
  readonly bytes?: readonly string[];
  readonly headers?: () => z.ZodObject;
  /** By status; every other answer is a problem. */
  readonly answers: Readonly<Record<number, Answer>>;
}

/** Neither `schema` nor `types`: no body. */
export interface Answer {
  readonly says: string;
  /** Of the JSON. It is loaded when the description is asked for. */
  readonly schema?: () => Promise<z.ZodType>;
  /** What it may come as instead: as text or bytes. A piece of a JSON document is bytes, too. */
  readonly types?: readonly string[];
}

/** Schemas by name. */
export type Schemas = Readonly<Record<string, z.ZodType>>;
type NameOf<All> = { [Name in keyof All]: All[Name] extends z.ZodType ? Name : never }[keyof All];

/** @returns what gives an operation the schema of an answer, by its name in a file that is loaded late. */
export function answersFrom<All>(load: () => Promise<All>) {
  return (name: NameOf<All>) => async () => (await load())[name] as z.ZodType;
}

export type AnyOperation = Operation<z.ZodObject, z.ZodObject, z.ZodType>;

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
