import "./models.css";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { ModelList } from "../../api/openapi-types.ts";
import { CopyButton } from "../../ui/action.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Empty, Loading } from "../../ui/page.tsx";
import { sentence } from "../../ui/plain-words.ts";
import { askModelsAgain, currentModel, isOllama, useModels } from "./choice.ts";
import { type Model, providerName, sizeInWords } from "./model-names.ts";

interface NewChatProps {
  /** What was chosen for the next message. */
  readonly chosen: Model | undefined;
  readonly choose: (model: Model) => void;
}

/** A chat in which nothing was said yet: what a message leads to, or how a model is set up. */
export function NewChat({ chosen, choose }: NewChatProps) {
  const { data: list, isPending } = useModels();
  const model = chosen ?? currentModel(null, list);
  if (isPending) return <Loading label="Asking for the models" />;
  if (list?.standard.provider === "offline" && model?.provider === "offline") {
    return (
      <section className="card set-up" aria-labelledby="set-up">
        <h2 id="set-up">Choose a model</h2>
        <SetUp choose={choose} />
        <p className="hint">
          You can also send a message now. The built-in responder answers it: it is not a language
          model, and everything you write is kept.
        </p>
      </section>
    );
  }
  return (
    <Empty title="Nothing here yet">
      Send a message. It is stored on the machine that runs Throughline, sent to the model that
      answers, and kept across restarts.
    </Empty>
  );
}

/** The models that can be used at once, and the commands that set up more. */
export function SetUp({ choose }: { readonly choose: (model: Model) => void }) {
  const { data: list } = useModels();
  const { isAsking, failure, ask } = useAskAgain();
  const isKnown = list?.providers.some(isOllama) === true;
  useReturn(ask);
  const others = (list?.providers ?? []).filter(
    ({ provider, models }) => !["ollama", "offline"].includes(provider) && models.length > 0,
  );
  return (
    <div className="set-up-parts">
      <Ollama list={list} choose={choose} />
      {others.length === 0 ? null : (
        <p>
          Models of {others.map(({ provider }) => providerName(provider)).join(" and ")} are in the
          list at the top, under the name of this chat.
        </p>
      )}
      <ErrorNote error={failure} />
      <div>
        <Button isBusy={isAsking} onClick={() => ask(true)}>
          {isAsking ? "Looking…" : isKnown ? "Look again" : "Look for Ollama"}
        </Button>
      </div>
      <Providers />
    </div>
  );
}

/** Asks for the models again, one time after the other. */
export function useAskAgain() {
  const { isPending, error, mutate } = useMutation({ mutationFn: askModelsAgain });
  const ask = (ollama = false) => {
    if (!isPending) mutate(ollama);
  };
  return { isAsking: isPending, failure: error, ask };
}

/** Calls back when the person comes back to the page, such as from a terminal. */
function useReturn(callBack: () => void): void {
  const latest = useRef(callBack);
  latest.current = callBack;
  useEffect(() => {
    const onFocus = () => latest.current();
    window.addEventListener("focus", onFocus);
    return () => window.removeEventListener("focus", onFocus);
  }, []);
}

/** So many models have a button of their own. */
const maxButtons = 6;

function Ollama({ list, choose }: { list: ModelList | undefined; choose: (model: Model) => void }) {
  const own = list?.providers.find(isOllama);
  const models = own?.models ?? [];
  if (models.length > 0) {
    return (
      <div className="set-up-part">
        <h3>Ollama is running. Use one of its models:</h3>
        <div className="row set-up-models">
          {models.slice(0, maxButtons).map(({ model, size_bytes: size }, at) => (
            <Button
              key={model}
              kind={at === 0 ? "primary" : "normal"}
              onClick={() => choose({ provider: "ollama", model })}
            >
              {model}
              {size === undefined ? null : <small>{sizeInWords(size)}</small>}
            </Button>
          ))}
        </div>
        {models.length > maxButtons ? (
          <p className="hint">All {models.length} are in the list under the name of this chat.</p>
        ) : null}
      </div>
    );
  }
  if (own === undefined) {
    return (
      <div className="set-up-part">
        <h3>Run a model on this machine</h3>
        <p>Ollama does that, free of charge. If it runs already, look for it.</p>
      </div>
    );
  }
  if (own.error === undefined) {
    return (
      <div className="set-up-part">
        <h3>Ollama is running, but has no chat model</h3>
        <p>Get one in a terminal, then look again:</p>
        <Command text="ollama pull qwen3" />
      </div>
    );
  }
  return (
    <div className="set-up-part">
      <h3>{sentence(own.error)}</h3>
      {own.error.includes("not allowed") ? null : (
        <>
          <p>
            It runs models on your own machine, free of charge. Install it from ollama.com, enter
            these in a terminal, then look again:
          </p>
          <Command text="ollama serve" />
          <Command text="ollama pull qwen3" />
        </>
      )}
    </div>
  );
}

const commands = [
  [
    "OpenAI",
    "npm install throughline @ai-sdk/openai",
    "OPENAI_API_KEY=sk-… npx throughline serve --model openai/gpt-5",
  ],
  [
    "Anthropic",
    "npm install throughline @ai-sdk/anthropic",
    "ANTHROPIC_API_KEY=sk-… npx throughline serve --model anthropic/claude-sonnet-4-5",
  ],
  [
    "Any OpenAI-compatible server",
    "npx throughline serve --model http://127.0.0.1:8080/v1#local --window 8192",
  ],
] as const;

function Providers() {
  return (
    <details className="set-up-part">
      <summary>Use OpenAI, Anthropic or another server</summary>
      <p>
        Stop Throughline with Ctrl-C, and start it with the model that you want. --window is the
        model's context window in tokens; without it, Throughline learns it when a request is too
        long.
      </p>
      {commands.map(([name, ...lines]) => (
        <div key={name} className="set-up-part">
          <h3>{name}</h3>
          {lines.map((text) => (
            <Command key={text} text={text} />
          ))}
        </div>
      ))}
    </details>
  );
}

/** A line for the terminal, with a button that copies it. */
function Command({ text }: { readonly text: string }) {
  return (
    <div className="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} what={text} />
    </div>
  );
}
