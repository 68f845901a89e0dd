import type { PointerEvent } from "react";
import type { Feedback } from "../api/openapi-types.ts";
import { plainWords } from "../ui/plain-words.ts";
import { placeOf, stripOf, type Timeline, timeInWords } from "./timeline.ts";
import { momentPath } from "./use-moments.ts";
import { Waveform } from "./waveform.tsx";
import { ratings, speakers } from "./words.ts";

interface Props {
  readonly name: string;
  readonly feedback: Feedback;
  readonly line: Timeline;
  readonly at: number;
  readonly seek: (at: number) => void;
}

const mostPictures = 8;

/** Pictures, sound, words and the reaction over the same time. A press or a drag goes there. */
export function Tracks({ name, feedback, line, at, seek }: Props) {
  const { audio, sentiment } = feedback;
  function go(event: PointerEvent<HTMLElement>): void {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - box.left) / Math.max(box.width, 1);
    seek(line.from + part * (line.to - line.from));
  }
  return (
    <div className="tracks">
      <div
        className="tracks-time"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={(event) => {
          if (event.buttons % 2 === 1) go(event);
        }}
      >
        {line.frames.length === 0 ? null : <Strip name={name} line={line} />}
        {audio === null ? null : <Waveform name={name} audio={audio} line={line} />}
        {line.words.length === 0 ? null : <Words line={line} />}
        <div className="tracks-reaction" style={{ left: `${placeOf(line, 0)}%` }} />
        <div className="tracks-at" style={{ left: `${placeOf(line, at)}%` }} />
      </div>
      <p className="tracks-scale hint" aria-hidden="true">
        <span>{timeInWords(line.from)}</span>
        <span>{ratings[sentiment]}</span>
        {line.to > 0 ? <span>{timeInWords(line.to)}</span> : null}
      </p>
    </div>
  );
}

/** What the pictures showed, part by part. */
function Strip({ name, line }: Pick<Props, "name" | "line">) {
  const pictures = stripOf(line, Math.min(mostPictures, line.frames.length));
  return (
    <div className="tracks-pictures" aria-hidden="true">
      {pictures.map((frame, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: each has its own place
        <div key={index}>
          {frame === undefined ? null : (
            <img
              src={`${momentPath(name)}/${frame.file}`}
              alt=""
              loading="lazy"
              draggable={false}
            />
          )}
        </div>
      ))}
    </div>
  );
}

/** Who spoke when. The words themselves are in the list of messages. */
function Words({ line }: Pick<Props, "line">) {
  return (
    <div className="tracks-words" aria-hidden="true">
      {line.words.map(({ role, text, at, until }) => (
        <span
          key={`${at} ${role} ${text}`}
          className={`words-${role.toLowerCase()}`}
          style={{
            left: `${placeOf(line, at)}%`,
            width: `${placeOf(line, until) - placeOf(line, at)}%`,
          }}
        >
          {speakers[role]}: {plainWords(text)}
        </span>
      ))}
    </div>
  );
}
