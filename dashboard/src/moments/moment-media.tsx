import { useEffect, useId, useMemo, useRef } from "react";
import type { Feedback, PackageContent } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { plainWords } from "../ui/plain-words.ts";
import {
  frameAt,
  type TimedFrame,
  type Timeline,
  timeInWords,
  timelineOf,
  wordsAt,
} from "./timeline.ts";
import { Tracks } from "./tracks.tsx";
import { momentPath } from "./use-moments.ts";
import { usePlayback } from "./use-playback.ts";
import { speakers } from "./words.ts";

interface Props {
  readonly name: string;
  readonly content: PackageContent;
}

const stepMs = 100;
/** How many pictures are loaded ahead, so that none is missing when its time comes. */
const ahead = 6;

/** Pictures, sound and words on one timeline, played together. */
export function MomentMedia({ name, content }: Props) {
  const { feedback, messages } = content;
  const line = useMemo(() => timelineOf(feedback, messages), [feedback, messages]);
  return line === undefined ? null : <Player name={name} feedback={feedback} line={line} />;
}

interface PlayerProps {
  readonly name: string;
  readonly feedback: Feedback;
  readonly line: Timeline;
}

function Player({ name, feedback, line }: PlayerProps) {
  const { audio } = feedback;
  const player = useRef<HTMLAudioElement>(null);
  const playback = usePlayback(line, audio, player);
  const { at, isPlaying, trouble, seek, toggle } = playback;
  const frame = frameAt(line, at);
  const words = wordsAt(line, at);
  const label = useId();
  useAhead(name, line, frame);
  return (
    <section className="stack moment-media" aria-label="Pictures, sound and words">
      {frame === undefined ? null : (
        <img
          className="moment-picture"
          src={`${momentPath(name)}/${frame.file}`}
          alt={`Picture, ${timeInWords(frame.at)}`}
        />
      )}
      {line.words.length === 0 ? null : (
        <p className="moment-caption" dir="auto">
          {words === undefined ? (
            <span className="hint">Nothing was said yet.</span>
          ) : (
            `${speakers[words.role]}: ${plainWords(words.text)}`
          )}
        </p>
      )}
      <Tracks name={name} feedback={feedback} line={line} at={at} seek={seek} />
      {line.from === line.to ? null : (
        <div className="moment-scrubber">
          <Button
            kind="quiet"
            className="button-icon"
            aria-label={isPlaying ? "Pause" : "Play"}
            title={isPlaying ? "Pause" : "Play"}
            onClick={toggle}
          >
            <Icon name={isPlaying ? "pause" : "play"} />
          </Button>
          <input
            type="range"
            aria-label="Time"
            id={label}
            min={Math.floor(line.from / stepMs) * stepMs}
            max={Math.ceil(line.to / stepMs) * stepMs}
            step={stepMs}
            value={at}
            aria-valuetext={timeInWords(at)}
            onChange={(event) => seek(Number(event.target.value))}
          />
          <output className="hint" htmlFor={label} aria-live="off">
            {timeInWords(at)}
          </output>
        </div>
      )}
      {trouble === undefined ? null : (
        <p className="error-note" role="alert">
          {trouble}
        </p>
      )}
      {audio === null ? null : (
        // biome-ignore lint/a11y/useMediaCaption: the messages are beside it
        <audio ref={player} preload="auto" src={`${momentPath(name)}/audio.wav`} />
      )}
    </section>
  );
}

/** Asks for the pictures that come next, and holds them. */
function useAhead(name: string, line: Timeline, frame: TimedFrame | undefined): void {
  const held = useRef(new Map<string, HTMLImageElement>());
  useEffect(() => {
    if (frame === undefined) return;
    const first = line.frames.indexOf(frame);
    const next = line.frames.slice(first, first + ahead);
    const images = next.map(({ file }): [string, HTMLImageElement] => {
      const image = held.current.get(file) ?? new Image();
      const address = `${momentPath(name)}/${file}`;
      if (image.getAttribute("src") !== address) image.src = address;
      return [file, image];
    });
    held.current = new Map(images);
  }, [name, line, frame]);
}
