import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react";
import type { PackageAudio } from "../api/openapi-types.ts";
import { audioTimeAt, sampleAt, type Timeline } from "./timeline.ts";

interface Playback {
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
  /** Where the clock was last set. */
  const begun = useRef({ at: line.from, nowMs: 0 });

  function seek(time: number): void {
    const within = Math.min(Math.max(time, line.from), line.to);
    setAt(within);
    begun.current = { at: within, nowMs: performance.now() };
    const element = player.current;
    const sample = audio === null ? undefined : sampleAt(audio, within);
    if (audio === null || sample === undefined || element === null) return;
    element.currentTime = sample / audio.rate_hz;
    if (!isHeard(audio, within)) element.pause();
  }
  function startSound(element: HTMLAudioElement): void {
    element.play().catch((error: unknown) => {
      // Paused before it began: nothing is wrong.
      if (error instanceof DOMException && error.name === "AbortError") return;
      setTrouble("The sound cannot be played.");
      setIsPlaying(false);
    });
  }
  const move = useEffectEvent(() => {
    const nowMs = performance.now();
    const byClock = begun.current.at + nowMs - begun.current.nowMs;
    const element = player.current;
    if (audio === null || element === null || element.ended) return byClock;
    if (element.paused) {
      if (isHeard(audio, byClock)) startSound(element);
      return byClock;
    }
    const heard = audioTimeAt(audio, element.currentTime * audio.rate_hz) ?? byClock;
    begun.current = { at: heard, nowMs };
    return heard;
  });

  useEffect(() => {
    if (!isPlaying) return;
    const element = player.current;
    let frame = requestAnimationFrame(step);
    function step(): void {
      const next = move();
      setAt(Math.min(next, line.to));
      if (next < line.to) frame = requestAnimationFrame(step);
      else setIsPlaying(false);
    }
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

/** Whether there is sound then. */
function isHeard(audio: PackageAudio, at: number): boolean {
  const [from, to] = [audioTimeAt(audio, 0), audioTimeAt(audio, audio.samples)];
  return from !== undefined && to !== undefined && at >= from && at < to;
}
