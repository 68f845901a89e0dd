import { modelName, providerName } from "../chats/models/model-names.ts";
import { useCompanionRun } from "./use-companion.ts";

/** What new chats run on, and the only providers that are ever sent a message. */
export function AllowedProviders() {
  const { data } = useCompanionRun();
  if (data === undefined) return null;
  const { standard, providers } = data.models;
  const outside = providers.filter((provider) => provider !== "offline");
  return (
    <p className="hint">
      New chats use {modelName(standard)}.{" "}
      {outside.length === 0
        ? "No provider is allowed."
        : `Allowed providers: ${outside.map(providerName).join(", ")}.`}
    </p>
  );
}
