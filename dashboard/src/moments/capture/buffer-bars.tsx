import type { Buffers } from "../../api/openapi-types.ts";
import { megabytesInWords, minutesInWords } from "./words.ts";

/** What is in memory now, and the limits. */
export function BufferBars({ stats }: { readonly stats: Buffers }) {
  const { messages, frames, audio_seconds: seconds, bytes, limits } = stats;
  return (
    <dl className="buffers">
      <Bar name="Messages" value={messages} max={limits.messages}>
        {messages} of {limits.messages}
      </Bar>
      <Bar name="Pictures" value={frames} max={limits.frames}>
        {frames} of {limits.frames}
      </Bar>
      <Bar name="Sound" value={seconds} max={limits.audio_seconds}>
        {minutesInWords(seconds)} of {minutesInWords(limits.audio_seconds)}
      </Bar>
      <Bar name="Memory" value={bytes} max={limits.bytes}>
        {megabytesInWords(bytes)} of {megabytesInWords(limits.bytes)}
      </Bar>
    </dl>
  );
}

interface BarProps {
  readonly name: string;
  readonly value: number;
  readonly max: number;
  readonly children: React.ReactNode;
}

function Bar({ name, value, max, children }: BarProps) {
  return (
    <div className="buffer">
      <dt>{name}</dt>
      <dd>
        <progress aria-label={name} value={Math.min(value, max)} max={max} />
        <span>{children}</span>
      </dd>
    </div>
  );
}
