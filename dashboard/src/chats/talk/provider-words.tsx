interface ProviderWordsProps {
  readonly words: string | undefined;
}

/** What a model's provider said about a failure, for those who want to know. */
export function ProviderWords({ words }: ProviderWordsProps) {
  if (words === undefined || words === "") return null;
  return (
    <details className="provider-words">
      <summary>What the provider said</summary>
      <p dir="auto">{words}</p>
    </details>
  );
}
