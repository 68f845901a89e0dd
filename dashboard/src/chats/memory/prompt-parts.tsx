import type { NextPrompt, PromptMessage, PromptSection } from "../../api/openapi-types.ts";
import { CopyButton } from "../../ui/action.tsx";

const names = {
  persona: "Persona",
  facts: "Facts",
  tools: "Tools",
  history: "History",
  context: "Context",
  message: "Your message",
} as const;

const says = {
  persona: "Who answers.",
  facts: "What the companion remembers.",
  tools: "What the model may do beside speaking. Each provider gets them in a form of its own.",
  history: "What was said, oldest first.",
  context: "What changes from message to message. It stands right before your message.",
  message: "What you are typing, and messages before it that have no answer.",
} as const;

/** The parts of a prompt: as a bar against the window of the model, and each with its text. */
export function PromptParts({ prompt }: { readonly prompt: NextPrompt }) {
  const { sections, total_tokens: total, window } = prompt;
  const whole = Math.max(total, window ?? total, 1);
  return (
    <>
      <div className="prompt-bar" aria-hidden="true">
        {sections.map(({ name, tokens }) => (
          <i
            key={name}
            className={`prompt-${name}`}
            style={{ width: `${(tokens / whole) * 100}%` }}
          />
        ))}
      </div>
      <div className="prompt-parts">
        {sections.map((section) => (
          <Part key={section.name} section={section} total={total} />
        ))}
      </div>
    </>
  );
}

function Part({ section, total }: { readonly section: PromptSection; readonly total: number }) {
  const { name, tokens, text = "", messages = [] } = section;
  const share = Math.round((tokens / Math.max(total, 1)) * 100);
  const copied = text === "" ? messages.map(messageWords).join("\n\n") : text;
  return (
    <details className="prompt-part">
      <summary>
        <i className={`prompt-dot prompt-${name}`} aria-hidden="true" />
        <span className="prompt-name">{names[name]}</span>
        <span className="prompt-tokens">
          {tokens.toLocaleString("en-GB")} <span className="prompt-unit">tokens</span>
        </span>
        <span className="prompt-share">{share} %</span>
      </summary>
      <div className="prompt-open">
        <p className="hint">{says[name]}</p>
        <CopyButton text={copied} />
      </div>
      {text === "" ? (
        <ol>
          {messages.map((message, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a prompt has nothing else to tell them apart
            <li key={index}>
              <span className="fine prompt-role">
                {roles[message.role]} · {message.tokens.toLocaleString("en-GB")}
              </span>
              <pre dir="auto">{bodyWords(message)}</pre>
            </li>
          ))}
        </ol>
      ) : (
        <pre dir="auto">{text}</pre>
      )}
    </details>
  );
}

const roles = { user: "User", assistant: "Assistant", tool: "Tool" } as const;

function messageWords(message: PromptMessage): string {
  return `${roles[message.role]}:\n${bodyWords(message)}`;
}

/** The text, then the calls of tools as JSON. */
function bodyWords({ content, tool_calls: calls = [] }: PromptMessage): string {
  const lines = calls.map((call) => JSON.stringify(call));
  return [content, ...lines].filter((line) => line !== "").join("\n");
}
