import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

const saidMs = 2_000;

interface ActionProps {
  readonly icon: IconName;
  readonly label: string;
  readonly run: () => void;
  /** What it does is done already; absent: that is not shown. */
  readonly isOn?: boolean | undefined;
  /** Just now the focus came back to it. */
  readonly isFocused?: boolean | undefined;
}

/** One thing that can be done with a message. */
export function Action({ icon, label, run, isOn, isFocused }: ActionProps) {
  return (
    <Button
      ref={isFocused === true ? focus : null}
      kind="quiet"
      className="action"
      aria-label={label}
      aria-pressed={isOn}
      title={label}
      onClick={run}
    >
      <Icon name={icon} size={17} />
    </Button>
  );
}

/** Copies the words of a message, and says whether that could be done. */
export function CopyAction({ text }: { readonly text: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), saidMs);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <span className="copy">
      <Action icon="copy" label="Copy" run={() => void copied(text).then(setSaid)} />
      <span className="copy-said" aria-live="polite">
        {said}
      </span>
    </span>
  );
}

/** The clipboard is there on secure origins only. @returns the outcome in words. */
async function copied(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    return "Could not copy"; // no permission, or no secure origin: it can still be selected
  }
}

function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}
