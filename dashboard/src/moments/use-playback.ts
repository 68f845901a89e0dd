import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react";
import type { PackageAudio } from "../api/openapi-types.ts";
import { audioTimeAt, sampleAt, type Timeline } from "./timeline.ts";

export interface Playback {
  /** Where it is, on the line of time. */
  readonly at: number;
  readonly isPlaying: boolean;
  readonly trouble: string | undefined;
  readonly seek: (at: number) => void;
  readonly toggle: () => void;
}

/** Moves along a line of time: with the sound while there is some, else by the clock. */
export function usePlayback(
  line: Timeline,
  audio: PackageAudio | null,
  player: RefObject<HTMLAudioElement | null>,
): Playback {
  const [at, setAt] = useState(line.from);
  const [isPlaying, setIsPlaying] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  /** Where the clock began, without sound. */
  const begun = useRef({ at: line.from, nowMs: 0 });

  function seek(time: number): void {
    const within = Math.min(Math.max(time, line.from), line.to);
    setAt(within);
    begun.current = { at: within, nowMs: performance.now() };
    const sample = audio === null ? undefined : sampleAt(audio, within);
    if (audio === null || sample === undefined || player.current === null) return;
    player.current.currentTime = sample / audio.rate_hz;
  }
  const position = useEffectEvent(() => {
    const element = player.current;
    if (audio === null || element === null) {
      return begun.current.at + performance.now() - begun.current.nowMs;
    }
    if (element.ended) return line.to;
    return audioTimeAt(audio, element.currentTime * audio.rate_hz) ?? line.from;
  });

  useEffect(() => {
    if (!isPlaying) return;
    const element = player.current;
    let frame = requestAnimationFrame(step);
    function step(): void {
      const next = position();
      setAt(Math.min(next, line.to));
      if (next < line.to) frame = requestAnimationFrame(step);
      else setIsPlaying(false);
    }
    element?.play().catch((error: unknown) => {
      // Paused before it began: nothing is wrong.
      if (error instanceof DOMException && error.name === "AbortError") return;
      setTrouble("The sound cannot be played.");
      setIsPlaying(false);
    });
    return () => {
      cancelAnimationFrame(frame);
      element?.pause();
    };
  }, [isPlaying, line, player]);

  function toggle(): void {
    setTrouble(undefined);
    if (!isPlaying) seek(at >= line.to ? line.from : at);
    setIsPlaying(!isPlaying);
  }
  return { at, isPlaying, trouble, seek, toggle };
}
