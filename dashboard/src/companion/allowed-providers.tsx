import { useCompanionRun } from "./use-companion.ts";

/** What new chats run on, and the only providers that are ever sent a message. */
export function AllowedProviders() {
  const { data } = useCompanionRun();
  if (data === undefined) return null;
  const { standard, providers } = data.models;
  const outside = providers.filter((provider) => provider !== "offline");
  const standardName =
    standard.provider === "offline"
      ? "the built-in responder (no model)"
      : `${standard.provider}/${standard.model}`;
  return (
    <p className="hint">
      New chats run on {standardName}.{" "}
      {outside.length === 0
        ? "No provider is allowed."
        : `Allowed providers: ${outside.join(", ")}.`}
    </p>
  );
}
