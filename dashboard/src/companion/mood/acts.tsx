import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { queryClient, request } from "../../api/client.ts";
import type { Emotions } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { emotionsKey, historyKey } from "./use-emotions.ts";
import { asTitle, type EventGroup, groupOf, inWords } from "./words.ts";
import "./acts.css";

const groups: readonly { readonly group: EventGroup; readonly title: string }[] = [
  { group: "kindness", title: "Kindness" },
  { group: "harm", title: "Harm" },
  { group: "other", title: "Other" },
];

const intensities = [
  { value: 0.5, name: "slight" },
  { value: 1, name: "normal" },
  { value: 2, name: "strong" },
  { value: 5, name: "extreme" },
] as const;

interface Act {
  readonly path: string;
  readonly body: unknown;
  /** What is shown once it was done. */
  readonly done: string;
}

/** Changes the mood, and shows the new one at once. */
function useAct(): UseMutationResult<{ state: Emotions }, Error, Act> {
  return useMutation({
    mutationFn: ({ path, body }: Act) =>
      request<{ state: Emotions }>(path, { method: "POST", body }),
    onSuccess: ({ state }) => {
      queryClient.setQueryData(emotionsKey, state);
      void queryClient.invalidateQueries({ queryKey: historyKey });
    },
  });
}

/** What can be done to it: trigger an event, set a mood for a while, go back to the baseline. */
export function Acts({ emotions }: { readonly emotions: Emotions }) {
  const act = useAct();
  return (
    <section className="card acts" aria-labelledby="acts-title">
      <div className="acts-head">
        <h2 id="acts-title">Trigger an event</h2>
        <p role="status">{act.isSuccess ? act.variables.done : ""}</p>
      </div>
      <ErrorNote error={act.error} />
      <EventButtons names={emotions.events} act={act.mutate} />
      <div className="acts-more">
        <MoodSetter names={emotions.moods} act={act.mutate} />
        <div className="acts-rest">
          <Button onClick={() => act.mutate(toRest)}>Reset to baseline</Button>
          <p className="hint">
            Reloads the configuration and sets every level to its baseline. Wounds stay.
          </p>
        </div>
      </div>
    </section>
  );
}

const toRest: Act = {
  path: "/api/emotions/reset",
  body: {},
  done: "Every level is at its baseline.",
};

interface Choices {
  readonly names: readonly string[];
  readonly act: (act: Act) => void;
}

function EventButtons({ names, act }: Choices) {
  const [intensity, setIntensity] = useState(1);
  const radio = useId();
  const happen = (event: string) =>
    act({
      path: "/api/emotions/event",
      body: { event, intensity },
      done: `${asTitle(event)}: applied.`,
    });
  return (
    <>
      <fieldset className="segments">
        <legend>Intensity</legend>
        {intensities.map(({ value, name }) => (
          <label key={value}>
            <input
              type="radio"
              name={radio}
              value={value}
              checked={value === intensity}
              onChange={() => setIntensity(value)}
            />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
      {groups.map(({ group, title }) => {
        const ofGroup = names.filter((name) => groupOf(name) === group);
        return ofGroup.length === 0 ? null : (
          <fieldset key={group} className="event-group">
            <legend>{title}</legend>
            <div className="row event-buttons">
              {ofGroup.map((name) => (
                <Button key={name} className={`event-${group}`} onClick={() => happen(name)}>
                  {asTitle(name)}
                </Button>
              ))}
            </div>
          </fieldset>
        );
      })}
    </>
  );
}

function MoodSetter({ names, act }: Choices) {
  const [chosen, setChosen] = useState<string>();
  const [seconds, setSeconds] = useState("10");
  const mood = chosen ?? names[0] ?? "";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    act({
      path: "/api/mood",
      body: { mood, duration: Number(seconds) },
      done: `${asTitle(mood)} for ${seconds} seconds.`,
    });
  };
  return (
    <form className="mood-setter" onSubmit={submit} aria-label="Set a mood">
      <label>
        <span className="label">Mood</span>
        <select className="field" value={mood} onChange={(event) => setChosen(event.target.value)}>
          {names.map((name) => (
            <option key={name} value={name}>
              {inWords(name)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="label">Seconds</span>
        <input
          className="field"
          type="number"
          required
          min={1}
          max={3600}
          step={1}
          value={seconds}
          onChange={(event) => setSeconds(event.target.value)}
        />
      </label>
      <Button type="submit">Set mood</Button>
    </form>
  );
}
