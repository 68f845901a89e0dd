import { useId, useState } from "react";
import type { Emotions } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { spanInWords } from "../../ui/in-words.ts";
import { asTitle } from "./words.ts";
import { courseOf, floorsInWords, woundInWords } from "./wound-course.ts";
import { WoundDrawing } from "./wound-drawing.tsx";

interface Props {
  readonly emotions: Emotions;
  /** Seconds since the emotions were loaded. */
  readonly elapsed: number;
}

/** How many are shown at first. */
const mostShown = 3;

/** The open wounds and how they heal, the newest first. */
export function Wounds({ emotions, elapsed }: Props) {
  const courses = emotions.wounds
    .map((wound) => ({ wound, course: courseOf(wound, elapsed) }))
    .filter(({ course }) => course.age < course.endsAt)
    .sort((a, b) => a.course.age - b.course.age);
  const [isWhole, setIsWhole] = useState(false);
  const list = useId();
  const shown = isWhole ? courses : courses.slice(0, mostShown);
  const more = courses.length - mostShown;
  return (
    <section className="card" aria-labelledby="wounds-title">
      <h2 id="wounds-title">Wounds</h2>
      {courses.length === 0 ? <p className="hint">No wounds.</p> : null}
      <ul id={list} className="wounds">
        {shown.map(({ wound, course }) => (
          <li key={wound.id}>
            <h3>
              {asTitle(wound.event)}
              <span className="wound-age">{spanInWords(course.age)} ago</span>
            </h3>
            <WoundDrawing course={course} />
            <p className="wound-words">
              {woundInWords(course)}; {floorsInWords(course)}.
            </p>
          </li>
        ))}
      </ul>
      {courses.length === 0 ? null : (
        <p className="hint">
          The shaded part is the past. At the dotted line a wound begins to heal.
        </p>
      )}
      {more <= 0 ? null : (
        <Button
          kind="quiet"
          className="wounds-more"
          aria-expanded={isWhole}
          aria-controls={list}
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? "Show fewer" : `Show ${more} more`}
        </Button>
      )}
    </section>
  );
}
