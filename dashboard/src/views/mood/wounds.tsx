import type { Emotions } from "../../api/types.ts";
import { spanInWords } from "./durations.ts";
import { asTitle } from "./words.ts";
import { courseOf } from "./wound-course.ts";
import { WoundDrawing } from "./wound-drawing.tsx";
import { floorsInWords, woundInWords } from "./wound-words.ts";

interface Props {
  readonly emotions: Emotions;
  /** Seconds since the moment that the emotions tell of. */
  readonly elapsed: number;
}

/** What hurts still, and how it heals. */
export function Wounds({ emotions, elapsed }: Props) {
  const courses = emotions.wounds
    .map((wound) => ({ wound, course: courseOf(wound, elapsed) }))
    .filter(({ course }) => course.age < course.endsAt);
  return (
    <section className="card" aria-labelledby="wounds-title">
      <h2 id="wounds-title">Wounds</h2>
      {courses.length === 0 ? <p className="hint">Nothing hurts.</p> : null}
      <ul className="wounds">
        {courses.map(({ wound, course }) => (
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
    </section>
  );
}
