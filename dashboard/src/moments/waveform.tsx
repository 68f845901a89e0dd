import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { open } from "../api/client.ts";
import type { PackageAudio } from "../api/openapi-types.ts";
import type { Timeline } from "./timeline.ts";
import { momentPath } from "./use-moments.ts";
import { waveformPath } from "./waveform.ts";

interface Props {
  readonly name: string;
  readonly audio: PackageAudio;
  readonly line: Timeline;
}

const width = 600;

/** The sound over time. */
export function Waveform({ name, audio, line }: Props) {
  const { data, isError, isPending } = useQuery({
    queryKey: ["moments", "sound", name],
    queryFn: async ({ signal }) => {
      const response = await open(`${momentPath(name)}/audio.wav`, { signal });
      const context = new OfflineAudioContext(1, 1, audio.rate_hz);
      return (await context.decodeAudioData(await response.arrayBuffer())).getChannelData(0);
    },
    // It is sealed. Minutes of sound are not kept beyond their view.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  const path = useMemo(
    () => (data === undefined ? "" : waveformPath(data, audio, line, width)),
    [data, audio, line],
  );
  return (
    <div className="waveform">
      <svg viewBox={`0 0 ${width} 100`} preserveAspectRatio="none" role="img" aria-label="Sound">
        <path d={path} />
      </svg>
      {isPending ? <p className="hint">Loading the sound…</p> : null}
      {isError ? <p className="hint">The sound cannot be drawn.</p> : null}
    </div>
  );
}
