import { drawingInWords, type WoundCourse } from "./wound-course.ts";

const [width, height, top, bottom] = [320, 92, 8, 84];

/** How the floors of a wound fall over time, what is over already shaded, and where it is now. */
export function WoundDrawing({ course }: { readonly course: WoundCourse }) {
  // A wound that never heals is drawn to twice its age.
  const isEndless = course.endsAt === Number.POSITIVE_INFINITY;
  const end = isEndless ? Math.max(course.healsFrom, 2 * course.age, 1) : course.endsAt;
  const x = (age: number) => 4 + (Math.min(age, end) / end) * (width - 8);
  const y = (level: number) => bottom - (level / course.highest) * (bottom - top);
  return (
    <svg className="wound-drawing" viewBox={`0 0 ${width} ${height}`} role="img">
      <title>{drawingInWords(course)}</title>
      <rect className="wound-past" x="4" y={top} width={x(course.age) - 4} height={bottom - top} />
      <line className="wound-ground" x1="4" x2={width - 4} y1={bottom} y2={bottom} />
      <line
        className="wound-turn"
        x1={x(course.healsFrom)}
        x2={x(course.healsFrom)}
        y1={top}
        y2={bottom}
      />
      {course.floors.map((floor) => (
        <polyline
          key={floor.emotion}
          className="wound-floor"
          style={{ stroke: `var(--${floor.emotion})` }}
          points={[
            `${x(0)},${y(floor.start)}`,
            `${x(course.healsFrom)},${y(floor.start)}`,
            `${x(floor.endsAt)},${isEndless ? y(floor.now) : bottom}`,
          ].join(" ")}
        />
      ))}
      <line
        className="wound-now"
        x1={x(course.age)}
        x2={x(course.age)}
        y1={top - 4}
        y2={bottom + 4}
      />
      {course.floors.map((floor) => (
        <circle
          key={floor.emotion}
          className="wound-dot"
          style={{ fill: `var(--${floor.emotion})` }}
          cx={x(course.age)}
          cy={y(floor.now)}
          r={4}
        />
      ))}
    </svg>
  );
}
