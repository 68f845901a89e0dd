import { useQuery } from "@tanstack/react-query";
import { type PointerEvent, useMemo } from "react";
import { open } from "../api/client.ts";
import type { PackageAudio } from "../api/openapi-types.ts";
import type { Timeline } from "./timeline.ts";
import { momentPath } from "./use-moments.ts";
import { samplesOfWav, waveformPath } from "./waveform.ts";

interface Props {
  readonly name: string;
  readonly audio: PackageAudio;
  readonly line: Timeline;
  readonly at: number;
  readonly seek: (at: number) => void;
}

const width = 600;

/** The sound over time, with a line at where one is; a press or a drag goes there. */
export function Waveform({ name, audio, line, at, seek }: Props) {
  const { data, isError, isPending } = useQuery({
    queryKey: ["moments", "sound", name],
    queryFn: async ({ signal }) => {
      const response = await open(`${momentPath(name)}/audio.wav`, { signal });
      return samplesOfWav(await response.arrayBuffer()) ?? null;
    },
    // It is sealed. Minutes of sound are not kept beyond their view.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  const path = useMemo(
    () => (data == null ? "" : waveformPath(data, audio, line, width)),
    [data, audio, line],
  );
  const place = (time: number) => ((time - line.from) * width) / Math.max(line.to - line.from, 1);
  function go(event: PointerEvent<SVGSVGElement>): void {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientX - box.left) / Math.max(box.width, 1);
    seek(line.from + part * (line.to - line.from));
  }
  return (
    <div className="waveform">
      <svg
        viewBox={`0 0 ${width} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Sound"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={(event) => {
          if (event.buttons % 2 === 1) go(event);
        }}
      >
        <path className="waveform-sound" d={path} />
        <path
          className="waveform-frames"
          d={line.frames.map((frame) => `M${place(frame.at).toFixed(1)} 97V100`).join("")}
        />
        <path className="waveform-reaction" d={`M${place(0).toFixed(1)} 0V100`} />
        <path className="waveform-at" d={`M${place(at).toFixed(1)} 0V100`} />
      </svg>
      {isPending ? <p className="hint">Loading the sound…</p> : null}
      {isError || data === null ? <p className="hint">The sound cannot be drawn.</p> : null}
    </div>
  );
}
