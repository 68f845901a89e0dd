import { useId, useRef, useState } from "react";
import type { Feedback, MomentAudio } from "../../api/moment-types.ts";
import { audioTimeAt, frameAt, sampleAt, timeInWords, timelineOf } from "./timeline.ts";
import { momentPath } from "./use-moments.ts";

interface Props {
  readonly name: string;
  readonly feedback: Feedback;
}

const stepMs = 100;

/** What was seen and heard, on one line of time: moving along it moves both. */
export function MomentMedia({ name, feedback }: Props) {
  const { audio } = feedback;
  const line = timelineOf(feedback);
  const [at, setAt] = useState(line?.from ?? 0);
  const player = useRef<HTMLAudioElement>(null);
  const label = useId();
  if (line === undefined && audio === null) return null;
  const frame = line === undefined ? undefined : frameAt(line, at);
  function seek(time: number): void {
    setAt(time);
    const sample = audio === null ? undefined : sampleAt(audio, time);
    if (audio === null || sample === undefined || player.current === null) return;
    player.current.currentTime = sample / audio.rate_hz;
  }
  return (
    <section className="moment-media" aria-label="What was seen and heard">
      {frame === undefined ? null : (
        <img
          src={`${momentPath(name)}/${frame.file}`}
          alt={`What was seen, ${timeInWords(frame.at)}`}
        />
      )}
      {line === undefined || line.from === line.to ? null : (
        <div className="moment-scrubber">
          <label className="hint" htmlFor={label}>
            Time
          </label>
          <input
            id={label}
            type="range"
            min={Math.floor(line.from / stepMs) * stepMs}
            max={Math.ceil(line.to / stepMs) * stepMs}
            step={stepMs}
            value={at}
            aria-valuetext={timeInWords(at)}
            onChange={(event) => seek(Number(event.target.value))}
          />
          <output className="hint" htmlFor={label}>
            {timeInWords(at)}
          </output>
        </div>
      )}
      {audio === null ? null : (
        // biome-ignore lint/a11y/useMediaCaption: what was said stands beside it
        <audio
          ref={player}
          controls
          preload="metadata"
          aria-label="What was heard"
          src={`${momentPath(name)}/audio.wav`}
          onTimeUpdate={({ currentTarget }) => follow(audio, currentTarget, setAt)}
        />
      )}
    </section>
  );
}

/** The line of time goes with the sound while that plays; a person who moves it goes first. */
function follow(audio: MomentAudio, player: HTMLAudioElement, setAt: (at: number) => void): void {
  if (player.paused) return;
  const at = audioTimeAt(audio, player.currentTime * audio.rate_hz);
  if (at !== undefined) setAt(at);
}
