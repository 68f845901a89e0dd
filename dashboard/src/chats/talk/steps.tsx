import "./steps.css";
import { type ReactNode, useState } from "react";
import type { Message } from "../../api/openapi-types.ts";
import type { Call } from "./rows.ts";

interface StepProps {
  readonly summary: ReactNode;
  readonly children: ReactNode;
}

/** Something on the way to an answer: one line, and all of it when it is opened. */
function Step({ summary, children }: StepProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="hint step" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen ? <div className="step-body">{children}</div> : null}
    </details>
  );
}

export function Reasoning({ text }: { readonly text: string }) {
  return (
    <Step summary="Reasoning">
      <Verbatim label="Reasoning" text={text} />
    </Step>
  );
}

interface ToolCallProps {
  readonly call: Call;
  /** Its turn runs: what it has no result of may still come. */
  readonly isRunning: boolean;
}

/** A tool that a model called: its name, its arguments and its result. */
export function ToolCall({ call, isRunning }: ToolCallProps) {
  const { name, args, result } = call;
  return (
    <Step
      summary={
        <>
          Called <code className="step-name">{name}</code>
          <Outcome result={result} isRunning={isRunning} />
        </>
      }
    >
      <Verbatim label="Arguments" text={args} />
      {result === undefined ? null : (
        <Verbatim label={result.is_error === true ? "Error" : "Result"} text={result.content} />
      )}
    </Step>
  );
}

/** A result whose call is not shown. */
export function ToolResult({ message }: { readonly message: Message }) {
  return (
    <article className="message message-assistant">
      <h2 className="visually-hidden">Companion</h2>
      <Step
        summary={
          <>
            Result of <code className="step-name">{message.name ?? "a tool"}</code>
            <Outcome result={message} isRunning={false} />
          </>
        }
      >
        <Verbatim label="Result" text={message.content} />
      </Step>
    </article>
  );
}

function Outcome({
  result,
  isRunning,
}: {
  readonly result: Message | undefined;
  readonly isRunning: boolean;
}) {
  if (result?.is_error === true) return <span className="tag tag-danger">failed</span>;
  if (result !== undefined) return null;
  return <span className="tag">{isRunning ? "running" : "no result"}</span>;
}

function Verbatim({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <>
      <p className="step-label">{label}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre className="step-text" tabIndex={0} dir="auto">
        {text}
      </pre>
    </>
  );
}
