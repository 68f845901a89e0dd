import type { Json, JsonObject } from "../core/json.ts";
import type { CompanionDocument } from "./companion-document.ts";
import { ownField } from "./own-fields.ts";

/** Texts that an injector must still deliver, as the document keeps them; see `PendingInjections`. */
export class KeptInjections {
  items: Json;
  readonly #store: (request: JsonObject) => Promise<void>;

  /** @param store stores the document, here or where it is kept: that one is given the request. */
  constructor(
    document: CompanionDocument | undefined,
    store: (request: JsonObject) => Promise<void>,
  ) {
    this.items = injectionsOf(document);
    this.#store = store;
  }

  async load(): Promise<unknown> {
    return this.items;
  }

  /** Resolves once they are stored. */
  async save(items: readonly JsonObject[]): Promise<void> {
    this.items = items;
    await this.#store({ do: "injections", items });
  }
}

/** Those that a document holds. */
export function injectionsOf(document: CompanionDocument | undefined): Json {
  return (ownField(document, "injections") ?? []) as Json;
}
