import { z } from "zod";
import type { ModelList } from "../core/models/responder.ts";
import { json, type Router } from "./router.ts";
import { flag, schemaOf } from "./schemas.ts";

/** Which models a message can name. */
export function addModelRoutes(router: Router): void {
  const { turns } = router.ports;
  router.get("/api/models", {
    id: "listModels",
    summary: "List the models that can be chosen",
    description:
      "For each provider that may be asked: the configured model, then the provider's own list. A message " +
      "chooses one by its `provider` and `model`, and the chat keeps it. A provider that does not answer " +
      "within 2 seconds has an `error` and only its configured model. Lists are kept for a minute.",
    query: () =>
      z.strictObject({
        again: flag().describe("`true`: asks the providers also where their lists are kept."),
        ollama: flag().describe(
          "`true`: looks for an Ollama on this machine, if no model was named at the start. It is listed from then on.",
        ),
      }),
    answers: { 200: { says: "The models.", schema: schemaOf("modelList") } },
    answer: async ({ query }) => {
      const [again, ollama] = [query.again === "true", query.ollama === "true"];
      return json(modelListJson(await turns.models({ again, ollama })));
    },
  });
}

export function modelListJson({ standard, providers }: ModelList) {
  return {
    standard,
    providers: providers.map(({ provider, models, error }) => ({
      provider,
      models: models.map(({ model, sizeBytes, takesPictures }) => ({
        model,
        size_bytes: sizeBytes,
        takes_pictures: takesPictures,
      })),
      error,
    })),
  };
}
