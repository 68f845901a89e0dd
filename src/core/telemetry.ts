import type { ModelInput } from "./chat/message.ts";
import { errorName } from "./errors.ts";

/** What takes time and is told to a tracer. A `turn`, an `append` and an `upload` are also measured. */
export type SpanStart =
  | {
      readonly type: "turn";
      readonly chatId: string;
      /** What the companion is called. */
      readonly agent?: string | undefined;
      /** What is to answer; absent where that cannot be asked. */
      readonly model?: string | undefined;
    }
  /** One call of a model, with its retries. */
  | { readonly type: "model"; readonly provider: string; readonly model: string }
  | { readonly type: "tool"; readonly tool: string; readonly callId: string }
  /** Records of a chat become durable. */
  | { readonly type: "append" }
  /** One attempt to send a package to a bucket, or to remove it there. */
  | { readonly type: "upload" };

/** What becomes known while a span lasts. The last three hold what was said: see `wantsContent`. */
export interface SpanFacts {
  /** In which part of a turn it ended or broke off. */
  readonly stage?: "begin" | "model" | "store" | "done" | undefined;
  /** The restart that the model is told of in this turn. */
  readonly restart?: string | undefined;
  /** Why the provider's session was kept or not. */
  readonly freshness?: string | undefined;
  /** Why the model ended its answer. */
  readonly finish?: string | undefined;
  readonly answeredBy?: string | undefined;
  readonly responseId?: string | undefined;
  /** Tokens. */
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cachedInput?: number | undefined;
  readonly reasoning?: number | undefined;
  readonly instructions?: string | undefined;
  readonly asked?: readonly ModelInput[] | undefined;
  readonly answer?: ModelInput | undefined;
}

/** Tells a tracer what turns, models, tools, appends and uploads take. None of its calls throws. */
export interface Telemetry {
  /** Begins a span in the one that this is; if this is none, in the one that the program is in now. */
  begin(start: SpanStart): Span;
}

export interface Span extends Telemetry {
  /** 32 hexadecimal digits. `undefined`: nothing is traced. */
  readonly traceId: string | undefined;
  /** Whether what was said may be told: it is personal, and long. */
  readonly wantsContent: boolean;
  /** Runs work so that spans which others begin in it are inside this one. */
  run<T>(work: () => T): T;
  add(facts: SpanFacts): void;
  /**
   * Only the first call counts.
   *
   * @param error the code of what it failed with.
   */
  end(error?: string): void;
}

export const silentSpan: Span = {
  traceId: undefined,
  wantsContent: false,
  begin: () => silentSpan,
  run: (work) => work(),
  add: () => undefined,
  end: () => undefined,
};

/** Tells nothing, and costs nothing. */
export const silentTelemetry: Telemetry = { begin: () => silentSpan };

/** Runs work in a span of its own, which ends when the work does, unless the work ended it before. */
export async function inSpan<T>(
  telemetry: Telemetry,
  start: SpanStart,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = telemetry.begin(start);
  try {
    const result = await span.run(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(errorName(error));
    throw error;
  }
}
