import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ProblemError, queryClient, request } from "../../api/client.ts";
import type { Facts } from "../../api/openapi-types.ts";
import { FileCard } from "../../chats/memory/file-card.tsx";
import { FileNote } from "../../chats/memory/file-note.tsx";
import { keepEdit, takeEdit, useKeptEdit } from "../../chats/memory/kept-edit.ts";
import { refreshPrompt } from "../../chats/memory/prompt-card.tsx";
import { Said, useSaid } from "../../chats/memory/saved.tsx";
import { tokenWords } from "../../chats/memory/sizes.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { FactRow, giveFocus } from "./fact-row.tsx";
import { asFact, changed, type FactChange } from "./facts-text.ts";
import "./facts.css";

const factsKey = ["facts"] as const;
const factsPath = "/api/facts";
/** How often a change is tried on the newest text, when others write it too. */
const maxTries = 3;
/** The fact that was to be changed is not there any more. */
const goneCode = "GONE";

/** What the companion remembers: read and edited. */
export function FactsCard() {
  return (
    <FileCard<Facts>
      title="Facts"
      says="What the companion remembers, one fact a line. Every model gets the facts after the persona."
      queryKey={factsKey}
      path={factsPath}
    >
      {(facts) => <FactList facts={facts} />}
    </FileCard>
  );
}

/** Makes a change in the newest text: what others wrote since then stays. */
async function write(change: FactChange): Promise<Facts> {
  let facts = queryClient.getQueryData<Facts>(factsKey) ?? (await request<Facts>(factsPath));
  for (let attempt = 1; ; attempt++) {
    const next = changed(facts.facts, change);
    if (next === undefined) {
      queryClient.setQueryData(factsKey, facts);
      throw new ProblemError({ status: 409, code: goneCode, detail: gone[change.kind] });
    }
    try {
      const body = { facts: next, version: facts.version };
      return await request<Facts>(factsPath, { method: "POST", body });
    } catch (error) {
      const isBehind = error instanceof ProblemError && error.code === "THROUGHLINE_CONFLICT";
      if (!isBehind || attempt === maxTries) throw error;
      const { version } = facts;
      facts = await request<Facts>(factsPath);
      if (facts.version === version) throw error; // refused for another reason
    }
  }
}

const gone = {
  add: "", // a fact can always be added
  edit: "This fact was changed or removed elsewhere. Your words are in the field for a new fact.",
  remove: "This fact was changed or removed elsewhere. The list shows the facts as they are now.",
} as const;

interface Removed {
  readonly fact: string;
  readonly at: number;
}

function FactList({ facts }: { readonly facts: Facts }) {
  const [removed, setRemoved] = useKeptEdit<Removed>("removed-fact");
  const [said, say] = useSaid();
  /** What has the focus after a change: the place of a fact, or the way back. */
  const [focused, setFocused] = useState<number | "undo">();
  const save = useMutation({
    mutationFn: write,
    onSuccess(stored, change) {
      if (change.kind === "edit") setFocused(change.index);
      else setFocused(change.kind === "remove" ? "undo" : change.at);
      queryClient.setQueryData(factsKey, stored);
      const isRemoved = change.kind === "remove";
      setRemoved(isRemoved ? { fact: change.old, at: change.index } : undefined);
      say(isRemoved ? "Removed" : "Saved");
      refreshPrompt();
    },
  });
  /** A second press while the first is on its way does nothing. */
  const make = (change: FactChange) => {
    const key = change.kind === "add" ? `+ ${change.fact}` : `${change.index} ${change.old}`;
    if (onTheirWay.has(key)) return never;
    onTheirWay.add(key);
    return save.mutateAsync(change).finally(() => onTheirWay.delete(key));
  };
  const canEdit = facts.editable && facts.problem === null;
  const left = facts.lines.filter(({ used }) => used !== "whole").length;
  /** What was typed since then stays: in the row of the new words, or in the field if the fact is gone. */
  async function edit(index: number, old: string, fact: string): Promise<void> {
    const name = editName(facts.lines, index);
    try {
      const { lines } = await make({ kind: "edit", index, old, fact });
      const since = takeEdit<string>(name);
      const at = lines.findIndex(({ text }) => text === fact);
      if (since !== undefined && asFact(since) !== fact) keepEdit(editName(lines, at), since);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== goneCode) return; // shown below
      const lost = takeEdit<string>(name) ?? fact;
      keepEdit<string>(newFact, (now) => (now === undefined ? lost : `${now} ${lost}`));
    }
  }
  return (
    <>
      <FileNote file={facts} name="facts.md" />
      {facts.lines.length === 0 ? <p className="hint">No facts yet.</p> : null}
      <ul className="fact-list">
        {facts.lines.map((line, index) => (
          <FactRow
            key={editName(facts.lines, index)}
            name={editName(facts.lines, index)}
            line={line}
            canEdit={canEdit}
            isFocused={focused === index}
            save={(fact) => void edit(index, line.text, fact)}
            remove={() => make({ kind: "remove", index, old: line.text }).catch(ignore)}
          />
        ))}
      </ul>
      {canEdit ? (
        <NewFact add={(fact) => make({ kind: "add", fact })} isBusy={save.isPending} />
      ) : null}
      <ErrorNote error={save.error} />
      {left === 0 ? null : (
        <p className="memory-problem">
          {left === 1 ? "1 fact does" : `${left} facts do`} not fit into the{" "}
          {facts.max_characters.toLocaleString("en-GB")} characters that a model gets. Remove or
          shorten some.
        </p>
      )}
      <div className="row memory-foot">
        <p className="hint">
          {facts.tokens === 0 ? "" : `All together ${tokenWords(facts.tokens)}`}
        </p>
        <Said words={said} />
        {removed === undefined || !canEdit ? null : (
          <Button
            ref={focused === "undo" ? giveFocus : null}
            kind="quiet"
            title={removed.fact}
            onClick={() => make({ kind: "add", fact: removed.fact, at: removed.at }).catch(ignore)}
          >
            Undo remove
          </Button>
        )}
      </div>
    </>
  );
}

interface NewFactProps {
  readonly add: (fact: string) => Promise<unknown>;
  readonly isBusy: boolean;
}

function NewFact({ add, isBusy }: NewFactProps) {
  const [typed, setTyped] = useKeptEdit<string>(newFact);
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    const given = typed ?? "";
    const fact = asFact(given);
    if (fact === "") return;
    await add(fact).then(
      () =>
        setTyped(
          (now = "") => (now.startsWith(given) ? now.slice(given.length) : now) || undefined,
        ),
      ignore,
    );
  }
  return (
    <form className="fact-add" onSubmit={(event) => void submit(event)}>
      <input
        className="field"
        aria-label="New fact"
        placeholder="Add a fact, such as “Ori is allergic to nuts.”"
        dir="auto"
        autoComplete="off"
        value={typed ?? ""}
        onChange={({ target }) => setTyped(target.value === "" ? undefined : target.value)}
      />
      <Button type="submit" isBusy={isBusy} disabled={asFact(typed ?? "") === ""}>
        Add
      </Button>
    </form>
  );
}

/** The name of the edit of a fact: of equal facts each has its own. */
function editName(lines: Facts["lines"], index: number): string {
  const text = lines[index]?.text;
  const before = lines.slice(0, index).filter((each) => each.text === text);
  return `fact ${before.length} ${text}`;
}

/** The name of the one that is typed. */
const newFact = "fact";
/** The changes that the server has not confirmed, also while another view is open. */
const onTheirWay = new Set<string>();
const never = new Promise<never>(() => undefined);

function ignore(): void {
  // shown below; what was typed stays
}
