import { useCompanionSession } from "./use-companion.ts";

/** What new chats run on, and the only providers that are ever sent a word. */
export function AllowedProviders() {
  const { data } = useCompanionSession();
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
        ? "No provider may be asked."
        : `Only these providers may be asked: ${outside.join(", ")}.`}
    </p>
  );
}
