import { z } from "zod";
import type { Json } from "../../core/json.ts";
import { KnownKeys } from "../../server/idempotency.ts";
import type { Nothing, Operation } from "../../server/operation.ts";
import { json, type Router } from "../../server/router.ts";

const repeats =
  "A repeated request with the same `Idempotency-Key` (1 to 255 printable ASCII characters) gets the first " +
  "answer again, for an hour while this server runs. The same key with another request is 409.";

/** What is done to the companion: under one key, once, whichever route it takes. */
export class CompanionWrites {
  readonly #router: Router;
  readonly #keys: KnownKeys;

  constructor(router: Router) {
    this.#router = router;
    this.#keys = new KnownKeys(router.ports.clock);
  }

  /** Adds an operation. What it throws was not done. */
  add<Body extends z.ZodType = Nothing>(
    operation: Omit<Operation<Nothing, Nothing, Body>, "method">,
    work: (body: z.output<Body>) => object | Promise<object>,
  ): void {
    const { id, description } = operation;
    this.#router.add<Nothing, Nothing, Body>(
      {
        ...operation,
        method: "post",
        headers: () => z.object({ "Idempotency-Key": z.string().optional() }),
        description: description === undefined ? repeats : `${description}\n\n${repeats}`,
      },
      async ({ body }, context) => {
        const key = context.req.header("idempotency-key");
        return json(await this.#keys.once(key, [id, body as Json], async () => work(body)));
      },
    );
  }
}
