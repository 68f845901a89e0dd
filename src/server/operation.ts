import { z } from "zod";

// Making code for a schema takes longer than all that it checks in a day of talk.
z.config({ jitless: true });

/**
 * One operation of the API: what it takes, what it answers, and its place in the description. Its schemas
 * are made when they are first needed: a start waits for none of them.
 */
export interface Operation<
  Path extends string = string,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With parameters as `{id}`. */
  readonly path: Path;
  /** Never changed: clients are generated from it. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string | undefined;
  /** What the parts of the path are, if not those of the server's own paths. */
  readonly params?: (() => z.ZodObject) | undefined;
  readonly query?: (() => Query) | undefined;
  /** JSON. What sends none sends `{}`. */
  readonly body?: (() => Body) | undefined;
  /**
   * Takes a form too (`multipart/form-data`): the fields of the body as its text parts, and files as parts that
   * are called `file`. The value is what stands for fields that a form leaves out.
   */
  readonly form?: Readonly<Record<string, string>> | undefined;
  /** Takes bytes of one of these types instead: the work reads them from the request. */
  readonly bytes?: readonly string[] | undefined;
  readonly headers?: (() => z.ZodObject) | undefined;
  /** By status; every other answer is a problem. */
  readonly answers: Readonly<Record<number, Answer>>;
}

/** The parameters of a path. */
export type ParamsOf<Path extends string> = { readonly [Name in NameIn<Path>]: string };
type NameIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NameIn<Rest>
  : never;

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

/** What takes no parameters, no query, no body. */
export const nothing = () => z.strictObject({});
export type Nothing = ReturnType<typeof nothing>;

const id = z.string().describe("Percent-encoded, as every part of a path.");
const parts: Readonly<Record<string, z.ZodType>> = {
  id: z.string().describe("1 to 1,024 bytes, percent-encoded; not `.` nor `..`."),
  message_id: id,
  turn: id.describe("The id of the turn's message."),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
    .describe("Of the file's bytes, as the message names it."),
};

/** The schema of the parameters of an operation. */
export function paramsOf({ path, params }: Operation): z.ZodObject {
  if (params !== undefined) return params();
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
  return z.strictObject(Object.fromEntries(names.map((name) => [name, parts[name] ?? id])));
}
