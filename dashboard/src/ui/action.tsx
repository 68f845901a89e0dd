import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { usePassingWords } from "./passing-words.ts";

const saidMs = 2_000;

interface ActionProps {
  readonly icon: IconName;
  readonly label: string;
  readonly run: () => void;
  /** For a toggle: whether it is on. */
  readonly isOn?: boolean | undefined;
  /** It takes the focus. */
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

/** Copies text. @returns the outcome in words for a moment, else "", and what copies. */
function useCopy(): readonly [said: string, copy: (text: string) => void] {
  const [said, setSaid] = usePassingWords(saidMs);
  return [said, (text) => void copied(text).then(setSaid)];
}

/** Copies a message. */
export function CopyAction({ text }: { readonly text: string }) {
  const [said, copy] = useCopy();
  return (
    <span className="copy">
      <Action icon="copy" label="Copy" run={() => copy(text)} />
      <span className="floating copy-said" aria-live="polite">
        {said}
      </span>
    </span>
  );
}

interface CopyButtonProps {
  readonly text: string;
  /** What it copies, for who does not see what it stands beside. */
  readonly what?: string;
  readonly className?: string;
  /** Before its word. */
  readonly children?: ReactNode;
}

/** Copies a text by a button that says so for a moment. */
export function CopyButton({ text, what, className, children }: CopyButtonProps) {
  const [said, copy] = useCopy();
  return (
    <Button kind="quiet" className={className} disabled={text === ""} onClick={() => copy(text)}>
      {children}
      <span>
        <span aria-live="polite">{said === "" ? "Copy" : said}</span>
        {what === undefined ? null : <span className="visually-hidden"> {what}</span>}
      </span>
    </Button>
  );
}

/** @returns the outcome in words. */
async function copied(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    // The clipboard is there on secure origins only, and with permission.
    return isCopiedByCommand(text) ? "Copied" : "Could not copy";
  }
}

/** The way that works on plain http too. */
function isCopiedByCommand(text: string): boolean {
  const give = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", give);
  try {
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", give);
  }
}

function focus(button: HTMLButtonElement | null): void {
  button?.focus();
}
