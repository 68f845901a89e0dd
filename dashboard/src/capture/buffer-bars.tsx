import type { MomentStats } from "../api/moment-types.ts";
import { megabytesInWords, minutesInWords } from "./words.ts";

/** What the buffers hold at most, as the server has it when nobody says otherwise. */
const most = { messages: 50, frames: 240, seconds: 120, bytes: 20_000_000 } as const;

/** What is in the memory now, of what may be. */
export function BufferBars({ stats }: { readonly stats: MomentStats }) {
  const { messages, frames, audio_seconds: seconds, bytes } = stats;
  return (
    <dl className="buffers">
      <Bar name="Words" value={messages} max={most.messages}>
        {messages} of {most.messages} messages
      </Bar>
      <Bar name="Pictures" value={frames} max={most.frames}>
        {frames} of {most.frames}
      </Bar>
      <Bar name="Sound" value={seconds} max={most.seconds}>
        {minutesInWords(seconds)} of {minutesInWords(most.seconds)}
      </Bar>
      <Bar name="Memory" value={bytes} max={most.bytes}>
        {megabytesInWords(bytes)} of {megabytesInWords(most.bytes)}
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
