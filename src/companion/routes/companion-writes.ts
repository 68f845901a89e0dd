import { z } from "zod";
import type { Json } from "../../core/json.ts";
import { KnownKeys } from "../../server/idempotency.ts";
import type { Nothing, Operation } from "../../server/operation.ts";
import { json, type Router } from "../../server/router.ts";

const repeats =
  "A repeated request with the same `Idempotency-Key` (1 to 255 printable ASCII characters) gets the first " +
  "answer again, for an hour while this server runs. The same key with another request is 409.";

/** Adds an operation that does something to the companion. What it throws was not done. */
export type AddWrite = ReturnType<typeof companionWrites>;

/** Makes what adds such operations: what they do is done once under one key, whichever route it takes. */
export function companionWrites(router: Router) {
  const keys = new KnownKeys(router.ports.clock);
  return <Body extends z.ZodType = Nothing>(
    operation: Omit<Operation<string, Nothing, Body>, "method">,
    work: (body: z.output<Body>) => object | Promise<object>,
  ): void => {
    const { id, description } = operation;
    router.add<string, Nothing, Body>(
      {
        ...operation,
        method: "post",
        headers: () => z.object({ "Idempotency-Key": z.string().optional() }),
        description: description === undefined ? repeats : `${description}\n\n${repeats}`,
      },
      async ({ body }, context) => {
        const key = context.req.header("idempotency-key");
        return json(await keys.once(key, [id, body as Json], async () => work(body)));
      },
    );
  };
}
