import "./models.css";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Chat, ModelList } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Loading } from "../../ui/page.tsx";
import { sentence } from "../../ui/plain-words.ts";
import { currentModel, hasSession, useModels } from "./choice.ts";
import { isSameModel, type Model, modelName, providerName, sizeInWords } from "./model-names.ts";
import { SetUp, useAskAgain } from "./set-up.tsx";
import { keptWords, switchWords } from "./switch-words.ts";
import { useFloating } from "./use-floating.ts";

interface ModelPickerProps {
  /** `null`: nothing was said in it yet. */
  readonly chat: Chat | null | undefined;
  /** What was chosen for the next message. */
  readonly chosen: Model | undefined;
  readonly choose: (model: Model) => void;
}

/** What answers in a chat: a button that opens the list of all models. */
export function ModelPicker({ chat, chosen, choose }: ModelPickerProps) {
  const { data: list } = useModels();
  const [isOpen, setIsOpen] = useState(false);
  const [isSettingUp, setIsSettingUp] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const model = chosen ?? currentModel(chat, list);
  if (model === undefined) return null;
  function close(): void {
    setIsOpen(false);
    button.current?.focus();
  }
  function use(next: Model): void {
    setIsOpen(false);
    if (!isSameModel(next, model)) choose(next);
    else button.current?.focus();
  }
  return (
    <div className="model-picker">
      <button
        ref={button}
        type="button"
        className="fine model-button"
        aria-label={`Model: ${modelName(model)}`}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        title={modelName(model)}
        onClick={() => setIsOpen(!isOpen)}
      >
        <span className="clip">{modelName(model)}</span>
        <Icon name="open" size={14} />
      </button>
      {isOpen ? (
        <Models
          id={id}
          anchor={button}
          chat={hasSession(chat) ? chat : null}
          model={model}
          use={use}
          close={close}
          leave={() => setIsOpen(false)}
          setUp={() => {
            close();
            setIsSettingUp(true);
          }}
        />
      ) : null}
      <span className="fine model-note" role="status">
        {hasSession(chat) && chosen !== undefined ? "from your next message" : ""}
      </span>
      {isSettingUp ? (
        <Dialog
          title="Set up a model"
          onClose={() => setIsSettingUp(false)}
          actions={<Button onClick={() => setIsSettingUp(false)}>Close</Button>}
        >
          <SetUp
            choose={(next) => {
              setIsSettingUp(false);
              choose(next);
            }}
          />
        </Dialog>
      ) : null}
    </div>
  );
}

interface ModelsProps {
  readonly id: string;
  readonly anchor: { readonly current: HTMLElement | null };
  /** The chat, if it has a session. */
  readonly chat: Chat | null;
  readonly model: Model;
  readonly use: (model: Model) => void;
  /** The button gets the focus. */
  readonly close: () => void;
  /** The focus stays where it went. */
  readonly leave: () => void;
  readonly setUp: () => void;
}

/** With more models than this there is a field to filter them. */
const enoughForFilter = 8;

function Models({ id, anchor, chat, model, use, close, leave, setUp }: ModelsProps) {
  const { data: list, error, isPending, refetch } = useModels();
  const box = useFloating(anchor, leave);
  const [filter, setFilter] = useState("");
  const offers = list === undefined ? [] : offersOf(list, model);
  const isLong = offers.length > enoughForFilter;
  const shown = offers.filter((each) => isMatch(each, filter));
  const own = shown.findIndex((each) => isSameModel(each, model));
  const [moved, setActive] = useState<number>();
  const active = Math.min(moved ?? Math.max(own, 0), shown.length - 1);
  const optionId = (at: number) => `${id}-${at}`;
  useFirstFocus(box, isLong);
  useLayoutEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [id, active]);

  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isButton = event.target instanceof HTMLButtonElement;
    if (step !== undefined && shown.length > 0) {
      setActive((active + step + shown.length) % shown.length);
    } else if (event.key === "Enter" && !isButton) {
      const at = shown[active];
      if (at !== undefined) use(at);
    } else if (event.key === "Escape") close();
    else return;
    event.preventDefault(); // Escape stops no answer, and an arrow scrolls nothing
  }

  const activeId = shown.length > 0 ? optionId(active) : undefined;
  return (
    <div
      ref={box}
      id={id}
      className="floating models"
      popover="manual"
      role="dialog"
      aria-label="Models"
      tabIndex={-1}
      onKeyDown={onKey}
    >
      {isLong ? (
        <input
          className="field models-filter"
          role="combobox"
          aria-label="Filter the models"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={activeId}
          placeholder="Filter"
          autoComplete="off"
          spellCheck={false}
          value={filter}
          onChange={(event) => {
            setFilter(event.target.value);
            setActive(0);
          }}
        />
      ) : null}
      {isPending ? <Loading label="Asking for the models" /> : null}
      <ErrorNote error={error} retry={() => void refetch()} />
      {shown.length === 0 ? null : (
        <div
          id={`${id}-list`}
          className="models-list"
          role="listbox"
          aria-label="Models"
          tabIndex={0}
          aria-activedescendant={activeId}
        >
          {groupsOf(shown).map(([provider, models]) => (
            <Group
              key={provider}
              provider={provider}
              words={chat === null ? "" : switchWords(chat, chat, provider)}
            >
              {models.map(([offer, at]) => (
                <Option
                  key={offer.model}
                  id={optionId(at)}
                  offer={offer}
                  isChosen={isSameModel(offer, model)}
                  isActive={at === active}
                  use={() => use(offer)}
                  point={() => setActive(at)}
                />
              ))}
            </Group>
          ))}
        </div>
      )}
      {filter !== "" && shown.length === 0 ? (
        <p className="hint models-note" role="status">
          No model has “{filter}” in its name.
        </p>
      ) : null}
      <Notes list={list} kept={chat === null ? "" : keptWords(chat, chat)} setUp={setUp} />
    </div>
  );
}

/** The field, or the list; on a phone the field would open the keyboard over the list. */
function useFirstFocus(box: { readonly current: HTMLElement | null }, isLong: boolean): void {
  useEffect(() => {
    const isFine = window.matchMedia("(pointer: fine)").matches;
    const first = isLong && isFine ? "input" : "[role=listbox]";
    (box.current?.querySelector<HTMLElement>(first) ?? box.current)?.focus();
  }, [box, isLong]);
}

type Offer = Model & ModelList["providers"][number]["models"][number];

/** All models, those of the provider in use first, and the one in use where no list has it. */
function offersOf({ providers }: ModelList, model: Model): readonly Offer[] {
  const isOwn = (each: Pick<Model, "provider">) => Number(each.provider === model.provider);
  const offers = providers
    .toSorted((a, b) => isOwn(b) - isOwn(a))
    .flatMap(({ provider, models }) => models.map((each) => ({ ...each, provider })));
  return offers.some((each) => isSameModel(each, model)) ? offers : [model, ...offers];
}

function isMatch(offer: Offer, filter: string): boolean {
  const name = `${offer.provider}/${offer.model} ${providerName(offer.provider)}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => name.includes(word));
}

/** Each model with its place in the list, by provider. */
function groupsOf(offers: readonly Offer[]): readonly [string, readonly [Offer, number][]][] {
  const groups = new Map<string, [Offer, number][]>();
  for (const [at, offer] of offers.entries()) {
    groups.set(offer.provider, [...(groups.get(offer.provider) ?? []), [offer, at]]);
  }
  return [...groups];
}

interface GroupProps {
  readonly provider: string;
  /** What happens to the chat's sessions if one of these is chosen. */
  readonly words: string;
  readonly children: React.ReactNode;
}

function Group({ provider, words, children }: GroupProps) {
  const id = useId();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group of options, in a list of them
    <div role="group" aria-labelledby={id} aria-describedby={`${id}-words`}>
      <p id={id} className="fine models-provider" role="presentation">
        {providerName(provider)}
      </p>
      <p id={`${id}-words`} className="fine models-words" role="presentation">
        {words}
      </p>
      {children}
    </div>
  );
}

interface OptionProps {
  readonly id: string;
  readonly offer: Offer;
  readonly isChosen: boolean;
  readonly isActive: boolean;
  readonly use: () => void;
  readonly point: () => void;
}

function Option({ id, offer, isChosen, isActive, use, point }: OptionProps) {
  const { model, size_bytes: size, takes_pictures: sees } = offer;
  const facts = [size === undefined ? "" : sizeInWords(size), sees === true ? "pictures" : ""];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the list's
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
    <div
      id={id}
      role="option"
      className={isActive ? "model is-active" : "model"}
      aria-selected={isChosen}
      onClick={use}
      onPointerMove={point}
    >
      <span className="model-name">{offer.provider === "offline" ? modelName(offer) : model}</span>
      <span className="fine model-facts">{facts.filter((fact) => fact !== "").join(", ")}</span>
    </div>
  );
}

interface NotesProps {
  readonly list: ModelList | undefined;
  readonly kept: string;
  readonly setUp: () => void;
}

/** What stays, which lists are missing, and how more models are set up. */
function Notes({ list, kept, setUp }: NotesProps) {
  const { isAsking, failure, ask } = useAskAgain();
  const errors = (list?.providers ?? []).flatMap(({ error }) =>
    error === undefined ? [] : [error],
  );
  const isBare = list?.standard.provider === "offline";
  if (kept === "" && errors.length === 0 && !isBare) return null;
  return (
    <div className="fine models-notes">
      {kept === "" ? null : <p>{kept}</p>}
      {errors.map((error) => (
        <p key={error}>{sentence(error)}</p>
      ))}
      <ErrorNote error={failure} />
      <div>
        {errors.length === 0 ? null : (
          <Button kind="quiet" isBusy={isAsking} onClick={() => ask()}>
            Ask again
          </Button>
        )}
        {isBare ? (
          <Button kind="quiet" onClick={setUp}>
            Set up a model…
          </Button>
        ) : null}
      </div>
    </div>
  );
}
