import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { queryClient, request } from "../../api/client.ts";
import type { CompanionRun, PersonSeen, Sleeping } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { When } from "../../ui/time.tsx";
import { runKey } from "../use-companion.ts";

/** Who was seen last, who is here now, and whether the companion sleeps. */
export function People({ run }: { readonly run: CompanionRun }) {
  const take = (changed: PersonSeen | Sleeping) =>
    queryClient.setQueryData<CompanionRun>(runKey, (known) => known && { ...known, ...changed });
  return (
    <section className="card restart-people" aria-label="Who is here">
      <Person run={run} take={take} />
      <Sleep run={run} take={take} />
    </section>
  );
}

interface Props {
  readonly run: CompanionRun;
  readonly take: (changed: PersonSeen | Sleeping) => void;
}

function Person({ run, take }: Props) {
  const [name, setName] = useState("");
  const saving = useMutation({
    mutationFn: (person: string) =>
      request<PersonSeen>("/api/person", { method: "POST", body: { name: person } }),
    onSuccess: (seen, saved) => {
      take(seen);
      setName((now) => (now.trim() === saved ? "" : now));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") saving.mutate(name.trim());
  };
  return (
    <div>
      <h2>Last seen</h2>
      <LastSeen run={run} />
      <form className="restart-form" onSubmit={submit}>
        <label className="label" htmlFor="person-name">
          Who is here?
        </label>
        <input
          className="field"
          id="person-name"
          value={name}
          maxLength={200}
          autoComplete="name"
          required
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" isBusy={saving.isPending}>
          I am here
        </Button>
      </form>
      <ErrorNote error={saving.error} />
    </div>
  );
}

function LastSeen({ run }: { readonly run: CompanionRun }) {
  const { last_person_seen: person, last_person_seen_time: time } = run;
  return (
    <p className="restart-big">
      <span role="status">{person ?? "No one yet"}</span>
      {person === null || time === null ? null : <When at={time * 1000} />}
    </p>
  );
}

function Sleep({ run, take }: Props) {
  const isAsleep = run.sleep_state === "asleep";
  const turn = useMutation({
    mutationFn: () =>
      request<Sleeping>("/api/sleep", {
        method: "POST",
        body: { state: isAsleep ? "awake" : "asleep" },
      }),
    onSuccess: take,
  });
  return (
    <div>
      <h2>Sleep</h2>
      <p className="restart-big" role="status">
        {isAsleep ? "Asleep" : "Awake"}
      </p>
      <p className="hint">It falls asleep after a long time of boredom. A message wakes it.</p>
      <Button isBusy={turn.isPending} onClick={() => turn.mutate()}>
        {isAsleep ? "Wake up" : "Put to sleep"}
      </Button>
      <ErrorNote error={turn.error} />
    </div>
  );
}
