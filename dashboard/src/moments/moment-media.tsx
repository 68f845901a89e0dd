import { useEffect, useId, useMemo, useRef } from "react";
import type { Feedback } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { frameAt, type TimedFrame, type Timeline, timeInWords, timelineOf } from "./timeline.ts";
import { momentPath } from "./use-moments.ts";
import { usePlayback } from "./use-playback.ts";
import { Waveform } from "./waveform.tsx";

interface Props {
  readonly name: string;
  readonly feedback: Feedback;
}

const stepMs = 100;
/** How many pictures are loaded ahead, so that none is missing when its time comes. */
const ahead = 6;

/** Pictures and sound on one timeline. */
export function MomentMedia({ name, feedback }: Props) {
  const line = useMemo(() => timelineOf(feedback), [feedback]);
  return line === undefined ? null : <Media name={name} feedback={feedback} line={line} />;
}

function Media({ name, feedback, line }: Props & { readonly line: Timeline }) {
  const { audio } = feedback;
  const player = useRef<HTMLAudioElement>(null);
  const playback = usePlayback(line, audio, player);
  const { at, isPlaying, trouble, seek, toggle } = playback;
  const frame = frameAt(line, at);
  const label = useId();
  useAhead(name, line, frame);
  return (
    <section className="moment-media" aria-label="Pictures and sound">
      {frame === undefined ? null : (
        <img src={`${momentPath(name)}/${frame.file}`} alt={`Picture, ${timeInWords(frame.at)}`} />
      )}
      {audio === null ? null : (
        <Waveform name={name} audio={audio} line={line} at={at} seek={seek} />
      )}
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
