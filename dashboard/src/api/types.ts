// What goes over the wire, as the server's description has it (/api/openapi.json). snake_case there
// is snake_case here. Fields may be added to answers at any time.
import type { MomentReceipt } from "./moment-types.ts";

/** ISO 8601, UTC; empty if it is not known. */
export type Stamp = string;

export interface Message {
  readonly id: string;
  readonly seq: number;
  readonly role: "user" | "assistant" | "tool" | "system";
  readonly content: string;
  readonly timestamp: Stamp;
  readonly turn?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly partial?: true;
  readonly partial_reason?: "stopped" | "error" | "crash";
  readonly hidden?: true;
  /** Nobody said it: what the companion was told of, such as `pat_hint`. */
  readonly synthetic?: string;
  readonly redacted?: true;
  /** What the model asked for after these words. */
  readonly tool_calls?: readonly unknown[];
  /** On a tool's result: of which call, of which tool, and whether it failed. */
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly is_error?: true;
  /** What the model thought before these words. */
  readonly reasoning_content?: string;
  /** On the answer of a turn. */
  readonly stats?: AnswerStats;
}

/** What an answer took. `null`: not known. */
export interface AnswerStats {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_input_tokens?: number;
  /** `null` also where the model has no price. */
  readonly cost_usd: number | null;
  readonly latency_ms: number;
  readonly first_word_ms: number | null;
}

/** Oldest first. `before` asks for the page before it; without one this is the first. */
export interface MessagePage {
  readonly messages: readonly Message[];
  readonly before?: number;
}

export interface ChatRow {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  readonly created_at: Stamp;
  readonly last_active: Stamp;
  readonly message_count: number;
  readonly generation: number;
  readonly title: string;
  readonly unanswered: boolean;
  readonly damaged: boolean;
  /** The newest message that was searched for. */
  readonly match?: Message;
  /** How many messages hold what was searched for, up to 100; 0: only the title or the id does. */
  readonly match_count?: number;
}

/** GET /api/chats/{id}/matches: newest first. */
export interface Matches {
  readonly matches: readonly {
    readonly id: string;
    readonly seq: number;
    readonly timestamp: Stamp;
  }[];
}

export interface ChatList {
  readonly chats: readonly ChatRow[];
  readonly cursor?: string;
}

export interface ProviderSession {
  readonly session_id: string;
  readonly message_count: number;
  readonly total_cost_usd: number;
  readonly total_tokens: number;
  /** How many of them have no known cost: their model has no price. */
  readonly unpriced_tokens?: number;
}

export interface Session {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  readonly created_at: Stamp;
  readonly last_active: Stamp;
  readonly generation: number;
  readonly provider_sessions: Readonly<Record<string, ProviderSession>>;
  readonly session_id: string;
  readonly message_count: number;
  readonly total_cost_usd: number;
  readonly total_tokens: number;
}

export interface Chat extends Session {
  readonly title: string;
  readonly damaged: boolean;
  readonly running: boolean;
  /** Oldest first, the running one too. */
  readonly unanswered_ids: readonly string[];
}

export interface Answer {
  readonly turn_id: string;
  readonly user: Message;
  readonly assistant: Message | null;
  readonly session: Session;
  readonly usage: {
    readonly input_tokens: number | null;
    readonly output_tokens: number | null;
    readonly cached_input_tokens?: number;
    readonly cost_usd: number | null;
  };
  readonly outcome: "answered" | "interrupted" | "failed";
  readonly reason?: string;
  /** What the model's provider said about it, in its own words. */
  readonly detail?: string;
  readonly notices: readonly string[];
}

/** A provider could not take a call now: it is called again after a wait. */
export interface Retrying {
  readonly reason: string;
  /** The provider's own words. */
  readonly detail?: string;
  /** The number of the call that follows: 2 for the first retry. */
  readonly attempt: number;
  readonly seconds: number;
}

export interface ForgetReceipt {
  readonly chat_id: string;
  readonly at: Stamp;
  readonly removed: readonly { readonly place: string; readonly count: number }[];
  readonly unreachable: readonly string[];
}

export interface MessageReceipt {
  readonly chat_id: string;
  readonly message_id: string;
  readonly redacted: boolean;
  readonly erased: boolean;
  /** Places that may still hold it. */
  readonly unreachable: readonly string[];
}

export interface WorkingMemory {
  readonly chats: readonly {
    readonly chat_id: string;
    readonly capacity: number;
    readonly count: number;
    readonly full: boolean;
    readonly empty: boolean;
    readonly session_age_seconds: number;
    readonly bytes: number;
    readonly last_turn: number;
    readonly summary: string;
  }[];
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly turn_id?: string;
  /** What the model's provider said, in its own words. */
  readonly provider_detail?: string;
}

export type RestartKind = "fresh_start" | "crash_recovery" | "short_break" | "long_absence";
export type Certainty = "certain" | "clock" | "uncertain";
export type SleepState = "awake" | "asleep";

/** GET /api/session */
export interface CompanionSession {
  readonly session_id: string;
  readonly restart_type: RestartKind;
  /** Seconds, one decimal; null: unknown. */
  readonly elapsed: number | null;
  /** Seconds. */
  readonly uptime: number;
  readonly total_sessions: number;
  /** Epoch seconds. */
  readonly session_start: number;
  readonly clean: boolean;
  readonly interrupted_turns: readonly { readonly chat_id: string; readonly message_id: string }[];
  readonly models: {
    readonly standard: { readonly provider: string; readonly model: string };
    /** The only providers that may be asked. */
    readonly providers: readonly string[];
  };
  readonly certainty: Certainty;
  readonly previous_session_id: string | null;
  readonly quarantined: number;
  readonly sleep_state: SleepState;
  readonly last_person_seen: string | null;
  /** Epoch seconds. */
  readonly last_person_seen_time: number | null;
}

export interface RestartReport {
  readonly kind: RestartKind;
  readonly clean: boolean;
  readonly elapsed: number | null;
  readonly certainty: Certainty;
  readonly previous_session_id: string | null;
  readonly total_sessions: number;
}

export interface Delivery {
  readonly chat_id: string;
  readonly kind: RestartKind;
  readonly status: "pending" | "delivered";
  /** The very text that was, or would now be, given to the model when it woke. */
  readonly text: string;
  readonly at: Stamp | null;
  readonly parts: readonly "session"[];
}

/** GET /api/restart */
export interface Restart {
  readonly report: RestartReport;
  readonly deliveries: readonly Delivery[];
}

export type Emotion = "joy" | "sadness" | "anger" | "fear" | "disgust";
/** 0 to 1 each. */
export type Levels = Readonly<Record<Emotion, number>>;

export interface Wound {
  readonly id: string;
  readonly event: string;
  readonly floors: Readonly<Partial<Record<Emotion, number>>>;
  /** Seconds. */
  readonly duration: number;
  /** Seconds, one decimal. */
  readonly age: number;
  readonly healing: boolean;
  /** Seconds until it is gone; null: it does not heal by itself. */
  readonly heals_in: number | null;
}

export type VoiceState = "idle" | "listening" | "thinking" | "speaking";

export interface MoodCause {
  readonly event: string;
  readonly age: number;
}

export interface MoodOverride {
  readonly mood: string;
  readonly until: Stamp;
}

/** GET /api/emotions */
export interface Emotions {
  readonly levels: Levels;
  readonly baselines: Levels;
  readonly boredom: number;
  readonly wounds: readonly Wound[];
  readonly mood: string;
  readonly mood_override: MoodOverride | null;
  /** The event that explains the mood, and how many seconds ago it was. */
  readonly mood_cause: MoodCause | null;
  readonly sleep_state: SleepState;
  readonly voice_state: VoiceState;
  /** Names that `POST /api/emotions/event` takes. */
  readonly events: readonly string[];
  /** Names that `POST /api/mood` takes. */
  readonly moods: readonly string[];
  readonly triggers: readonly string[];
  readonly warnings: readonly string[];
}

/** GET /api/emotions/history: arrays of equal length; null where nothing is known. */
export interface EmotionHistory {
  /** Epoch milliseconds, as every time here. */
  readonly from: number;
  readonly to: number;
  readonly at: readonly number[];
  readonly levels: Readonly<Record<Emotion, readonly (number | null)[]>>;
  readonly boredom: readonly (number | null)[];
  readonly mood: readonly (string | null)[];
  readonly events: readonly {
    readonly at: number;
    readonly event: string;
    readonly intensity: number;
    readonly wound: "added" | "limit" | null;
  }[];
  readonly wounds: readonly {
    readonly id: string;
    readonly event: string;
    readonly from: number;
    /** null: it does not heal by itself. */
    readonly to: number | null;
  }[];
  readonly runs: readonly { readonly from: number; readonly to: number | null }[];
}

/** POST /api/person */
export interface PersonSeen {
  readonly last_person_seen: string | null;
  readonly last_person_seen_time: number | null;
}

/** POST /api/sleep */
export interface SleepSet {
  readonly sleep_state: SleepState;
}

/** The events of GET /api/events, by name. */
export interface ServerEvents {
  readonly message:
    | { readonly change: "stored"; readonly chat_id: string; readonly message: Message }
    | {
        readonly change: "redacted" | "erased";
        readonly chat_id: string;
        readonly message_id: string;
      };
  readonly turn: {
    readonly chat_id: string;
    readonly turn_id: string;
    readonly state: "running" | Answer["outcome"];
    readonly code?: string;
  };
  readonly session: {
    readonly chat_id: string;
    readonly change:
      | "ended"
      | "reset"
      | "provider_reset"
      | "cleared"
      | "renamed"
      | "forked"
      | "forgotten";
  };
  readonly repair: Readonly<Record<string, unknown>>;
  readonly emotions: Pick<
    Emotions,
    | "levels"
    | "boredom"
    | "mood"
    | "mood_override"
    | "mood_cause"
    | "sleep_state"
    | "wounds"
    | "voice_state"
  >;
  readonly person: PersonSeen;
  readonly sleep: SleepSet;
  readonly restart: Pick<Delivery, "chat_id" | "status">;
  readonly feedback: { readonly type: string; readonly receipt: MomentReceipt };
}
