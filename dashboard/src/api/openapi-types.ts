// Generated from api/openapi.json: run `npm run generate`.

export type Answer = {
  readonly turn_id: string;
  readonly user: Message;
  /** `null`: it was stopped before the first word. */
  readonly assistant: Message | null;
  readonly session: Session;
  readonly usage: {
    readonly input_tokens: number | null;
    readonly output_tokens: number | null;
    readonly cached_input_tokens?: number | undefined;
    /** `null`: not known, for example because the model has no price. */
    readonly cost_usd: number | null;
  };
  readonly outcome: "answered" | "interrupted" | "failed";
  /** Why the answer is not complete. */
  readonly reason?: string | undefined;
  /** What the model's provider said about it, in its own words. */
  readonly detail?: string | undefined;
  /** For the person, beside the reply. */
  readonly notices: readonly string[];
};

/** What an answer used. `null`: not known; `cost_usd` is also `null` if the model has no price. */
export type AnswerStats = {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_input_tokens?: number | undefined;
  readonly cost_usd: number | null;
  readonly latency_ms: number;
  readonly first_word_ms: number | null;
};

export type Answering = {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
};

export type Append = {
  /** The client whose run says this: see `POST /api/session`. */
  readonly client?: string | undefined;
  /** `false`: only stored, as for words of long ago that have no `timestamp`. */
  readonly heard?: boolean | undefined;
  readonly messages: readonly {
    /** A message that is sent again under its id is stored once. */
    readonly id?: string | undefined;
    /** In upper or lower case. */
    readonly role: "user" | "assistant" | "tool" | "system";
    readonly content: string;
    /** ISO 8601 with a zone, or seconds since 1970. Now, when absent. */
    readonly timestamp?: string | number | undefined;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly type: "function";
      readonly function: {
        readonly name: string;
        /** JSON, as the model wrote it. */
        readonly arguments: string;
      };
    }[] | undefined;
    /** On a tool's result: the id of the call. */
    readonly tool_call_id?: string | undefined;
    /** On a tool's result: the tool. On a user's message: who of a group said it. */
    readonly name?: string | undefined;
    /** The tool failed. */
    readonly is_error?: true | undefined;
    /** Set when no person said it: what it is, such as `pat_hint`. */
    readonly synthetic?: string | undefined;
  }[];
};

/** `limit`: it left no wound, because there are already enough. */
export type AppliedEvent = {
  readonly status: "applied";
  readonly event: string;
  readonly wound: "added" | "limit" | null;
  readonly state: Emotions;
};

/** A file of the message. Its bytes can be read if it has a `sha256`. */
export type Attachment = {
  readonly name: string;
  readonly type: string;
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
};

/** What the rolling buffers hold. Sent when it changed, at most once a second. */
export type Buffers = {
  readonly messages: number;
  readonly frames: number;
  readonly audio_samples: number;
  readonly audio_seconds: number;
  readonly bytes: number;
  readonly waiting: number;
  readonly pinned_bytes: number;
  /** The limits of the buffers. */
  readonly limits: {
    readonly messages: number;
    readonly frames: number;
    readonly audio_seconds: number;
    readonly bytes: number;
  };
  readonly storage_mode: "local" | "local+s3" | "s3";
  /** Why it differs from the configuration. */
  readonly storage_reason: string | null;
  /** The size of all packages here, as last counted; `null`: not counted yet. */
  readonly package_bytes: number | null;
  readonly s3_bucket: string | null;
  readonly outbox: {
    readonly pending: number;
    readonly dead: number;
  } | null;
  readonly consent: Consent;
  /** Whether pictures or sound are arriving now, from any device. */
  readonly capturing: {
    readonly frames: boolean;
    readonly audio: boolean;
  };
};

export type Chat = {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly created_at: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly last_active: string;
  readonly generation: number;
  readonly provider_sessions: Readonly<Record<string, ProviderSession>>;
  /** The provider's own; empty: none yet. */
  readonly session_id: string;
  /** With this provider in this session. */
  readonly message_count: number;
  readonly total_cost_usd: number;
  readonly total_tokens: number;
  readonly title: string;
  /** The user's own. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** How many of the messages were summarised elsewhere. */
  readonly last_consolidated: number;
  readonly damaged: boolean;
  /** A turn is running: it can be followed or stopped. */
  readonly running: boolean;
  /** Messages without an answer, oldest first, the running one too. */
  readonly unanswered_ids: readonly string[];
  /** All messages of the chat that are not cleared. */
  readonly messages_total: number;
  /** The chat as the list has it. */
  readonly row: ChatRow;
  /** The chat that this one was copied from, if it is there. */
  readonly forked_from?: LinkedChat | undefined;
  /** Up to 100 chats copied from this one, oldest first. */
  readonly branches: readonly LinkedChat[];
};

/** The chat in which a person acted last comes first. */
export type ChatList = {
  readonly chats: readonly ChatListRow[];
  readonly cursor?: string | undefined;
  /** There are more, or there may be: an answer holds 16 MiB, and a search looks at 1,000 hits. */
  readonly more?: true | undefined;
};

export type ChatListRow = {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly created_at: string;
  /** When a person last acted. */
  readonly last_active: string;
  /** All messages of the chat that are not cleared. */
  readonly message_count: number;
  /** Counts the sessions of the chat; 0: none yet. */
  readonly generation: number;
  readonly title: string;
  /** A message waits for its answer. */
  readonly unanswered: boolean;
  /** Stored bytes of it were found damaged. */
  readonly damaged: boolean;
  readonly match?: Message | undefined;
  /** With `query`; up to 100. */
  readonly match_count?: number | undefined;
};

export type ChatMetadata = {
  /** Any JSON object. `user_timezone`, an IANA zone, is where this chat's days begin. */
  readonly metadata: Readonly<Record<string, unknown>>;
};

export type ChatRow = {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly created_at: string;
  /** When a person last acted. */
  readonly last_active: string;
  /** All messages of the chat that are not cleared. */
  readonly message_count: number;
  /** Counts the sessions of the chat; 0: none yet. */
  readonly generation: number;
  readonly title: string;
  /** A message waits for its answer. */
  readonly unanswered: boolean;
  /** Stored bytes of it were found damaged. */
  readonly damaged: boolean;
};

export type Client = {
  /** The name of a program with runs of its own. */
  readonly client: string;
};

export type ClientRun = {
  /** Of the run: 8 hexadecimal digits. */
  readonly session_id: string;
  readonly restart_type: "fresh_start" | "crash_recovery" | "short_break" | "long_absence";
  /** Whether the run before ended cleanly. */
  readonly clean: boolean;
  /** Seconds since the last sign of life of the run before; `null`: not known. */
  readonly elapsed: number | null;
  /** `certain`: measured by the machine's uptime. `clock`: by its clock. `uncertain`: the clock went backwards or cannot be used. */
  readonly certainty: "certain" | "clock" | "uncertain";
  readonly previous_session_id: string | null;
  readonly total_sessions: number;
  /** Stored things that could not be read and were set aside, until `doctor --confirm`. */
  readonly quarantined: number;
  /** Messages that the run before left without an answer. */
  readonly interrupted_turns: readonly {
    readonly chat_id: string;
    readonly message_id: string;
  }[];
  readonly uptime: number;
  /** Seconds since 1970. */
  readonly session_start: number;
  readonly sleep_state: "awake" | "asleep";
  readonly last_person_seen: string | null;
  /** Seconds since 1970. */
  readonly last_person_seen_time: number | null;
  readonly client: string;
  readonly ended: boolean;
  /** Ids of what its model is still to hear. */
  readonly injects: readonly string[];
  /** Of a run that begins: what its model is to hear. */
  readonly text?: string | undefined;
};

export type Compact = {
  /** The last message that it stands for. */
  readonly up_to_seq?: number | undefined;
  readonly summary?: string | undefined;
  /** How many messages you summarised. */
  readonly last_consolidated?: number | undefined;
};

export type CompanionRun = {
  /** Of the run: 8 hexadecimal digits. */
  readonly session_id: string;
  readonly restart_type: "fresh_start" | "crash_recovery" | "short_break" | "long_absence";
  /** Whether the run before ended cleanly. */
  readonly clean: boolean;
  /** Seconds since the last sign of life of the run before; `null`: not known. */
  readonly elapsed: number | null;
  /** `certain`: measured by the machine's uptime. `clock`: by its clock. `uncertain`: the clock went backwards or cannot be used. */
  readonly certainty: "certain" | "clock" | "uncertain";
  readonly previous_session_id: string | null;
  readonly total_sessions: number;
  /** Stored things that could not be read and were set aside, until `doctor --confirm`. */
  readonly quarantined: number;
  /** Messages that the run before left without an answer. */
  readonly interrupted_turns: readonly {
    readonly chat_id: string;
    readonly message_id: string;
  }[];
  readonly uptime: number;
  /** Seconds since 1970. */
  readonly session_start: number;
  readonly sleep_state: "awake" | "asleep";
  readonly models: {
    /** What new sessions run on. */
    readonly standard: {
      readonly provider: string;
      readonly model: string;
    };
    /** The only providers that may be asked. `offline` sends nothing. */
    readonly providers: readonly string[];
  };
  readonly last_person_seen: string | null;
  /** Seconds since 1970. */
  readonly last_person_seen_time: number | null;
  /** Where it is the run of a client. */
  readonly client?: string | undefined;
  readonly ended?: boolean | undefined;
};

export type Consent = {
  readonly messages: boolean;
  readonly frames: boolean;
  readonly audio: boolean;
  readonly upload: boolean;
  readonly export: boolean;
  readonly wording: string | null;
  readonly timestamp: number | null;
  readonly by: string | null;
};

/** Anything left out counts as refused. */
export type ConsentInput = {
  readonly messages?: boolean | undefined;
  readonly frames?: boolean | undefined;
  readonly audio?: boolean | undefined;
  readonly upload?: boolean | undefined;
  readonly export?: boolean | undefined;
  /** What the person was shown: needed for pictures and sound. */
  readonly wording?: string | undefined;
  readonly by?: string | undefined;
};

export type DeletedPackages = {
  readonly packages: number;
  /** Not deleted yet: done at the next start, or when you repeat the request. */
  readonly failed: readonly {
    readonly name: string;
  }[];
  /** Packages that cannot be read, so it is not known whose they are. Delete them by name. */
  readonly unreadable: readonly string[];
};

export type Delivery = {
  readonly chat_id: string;
  readonly kind: "fresh_start" | "crash_recovery" | "short_break" | "long_absence";
  readonly status: "pending" | "delivered";
  /** What the model read, or would read now. */
  readonly text: string;
  readonly parts: readonly "session"[];
  readonly at: string | null;
};

/** One difference between a package and its seal. */
export type Difference = {
  readonly path: string;
  readonly detail: string;
};

export type Dismissed = {
  readonly dismissed: number;
};

export type EmotionEvent = {
  readonly event: string;
  /** 1 when absent. */
  readonly intensity?: number | undefined;
};

export type Emotions = {
  readonly levels: Levels;
  readonly boredom: number;
  readonly wounds: readonly Wound[];
  readonly mood: string;
  readonly mood_override: {
    readonly mood: string;
    /** ISO 8601, UTC; empty if it is not known. */
    readonly until: string;
  } | null;
  /** The reason: the event of the newest open wound, else the event that brought the mood, and its age. `null`: no event did. */
  readonly mood_cause: {
    readonly event: string;
    readonly age: number;
  } | null;
  readonly sleep_state: "awake" | "asleep";
  readonly voice_state: "idle" | "listening" | "thinking" | "speaking";
  readonly baselines: Levels;
  readonly events: readonly string[];
  readonly event_severity: Readonly<Record<string, "healing" | "mild" | "moderate" | "severe">>;
  readonly moods: readonly string[];
  /** Events that words can cause. */
  readonly triggers: readonly string[];
  /** What is wrong with `emotions.yaml`. */
  readonly warnings: readonly string[];
};

export type EmotionsReset = {
  readonly status: "reset";
  readonly state: Emotions;
};

export type Facts = {
  /** The text of `facts.md`. */
  readonly facts: string;
  /** The facts: the lines that are not blank. */
  readonly lines: readonly {
    readonly text: string;
    /** How much of the fact fits into what a model gets. */
    readonly used: "whole" | "part" | "no";
    readonly tokens: number;
  }[];
  /** An estimate of what models get of it. */
  readonly tokens: number;
  /** Of the file; empty: there is none to read. */
  readonly version: string;
  /** Why the file that is there cannot be used, nor edited here. */
  readonly problem: string | null;
  /** `false`: this server keeps nothing. */
  readonly editable: boolean;
  /** Other servers use the same database; each of them has a file of its own. */
  readonly this_server_only: boolean;
  readonly max_bytes: number;
  /** What a model gets of the facts, at most. */
  readonly max_characters: number;
};

export type FactsChange = {
  /** The new text of `facts.md`, one fact a line. Blank removes the file. */
  readonly facts: string;
  /** The `version` that was read. If the text was changed since, this is 409. */
  readonly version: string;
};

/** A package's `feedback.json`. */
export type Feedback = {
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly sentiment: "positive" | "negative";
  readonly what: string;
  readonly trigger: string;
  readonly num_messages: number;
  readonly num_frames: number;
  readonly audio_samples: number;
  readonly chat_id: string | null;
  readonly channel: string;
  readonly correction: {
    readonly text: string;
    readonly kind: "replacement" | "note";
  } | null;
  readonly consent: {
    readonly messages: boolean;
    readonly frames: boolean;
    readonly audio: boolean;
    readonly upload: boolean;
    readonly export: boolean;
  };
  /** The messages that were reacted to. */
  readonly target: {
    readonly index: number;
    readonly count: number;
    readonly how: string;
  } | null;
  readonly frames: readonly {
    readonly file: string;
    /** Milliseconds from the reaction, negative before it; `null`: not known. */
    readonly t_ms: number | null;
  }[];
  readonly audio: PackageAudio | null;
};

export type FeedbackStats = {
  readonly messages: number;
  readonly frames: number;
  readonly audio_samples: number;
  readonly audio_seconds: number;
  readonly bytes: number;
  readonly waiting: number;
  readonly pinned_bytes: number;
  /** The limits of the buffers. */
  readonly limits: {
    readonly messages: number;
    readonly frames: number;
    readonly audio_seconds: number;
    readonly bytes: number;
  };
  readonly storage_mode: "local" | "local+s3" | "s3";
  /** Why it differs from the configuration. */
  readonly storage_reason: string | null;
  /** The size of all packages here, as last counted; `null`: not counted yet. */
  readonly package_bytes: number | null;
  readonly s3_bucket: string | null;
  readonly outbox: {
    readonly pending: number;
    readonly dead: number;
  } | null;
  readonly consent: Consent;
  /** Whether pictures or sound are arriving now, from any device. */
  readonly capturing: {
    readonly frames: boolean;
    readonly audio: boolean;
  };
};

export type Findings = {
  readonly damaged: boolean;
  readonly failed: boolean;
  readonly checks: readonly {
    readonly id: string;
    readonly status: "ok" | "note" | "damaged" | "failed";
    /** One line for people, with what to do. */
    readonly says: string;
  }[];
};

export type ForgetReceipt = {
  readonly chat_id: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly at: string;
  readonly removed: readonly {
    readonly place: string;
    readonly count: number;
  }[];
  readonly unreachable: readonly string[];
  /** Chats with messages that were copied from this one. They stay: forget them too. */
  readonly forks: readonly string[];
};

export type Fork = {
  /** The last message to copy. Without it none is, for another beginning. */
  readonly message_id?: string | undefined;
  /** The new chat: its id must not be in use, nor be `.` or `..`. */
  readonly chat_id: string;
};

export type Health = {
  readonly status: "ok" | "degraded";
  readonly version: string;
  readonly uptime_seconds: number;
  /** How often stored bytes were found damaged or missing. */
  readonly repairs: number;
};

export type Hits = {
  readonly hits: readonly {
    readonly chat_id: string;
    readonly message: Message;
  }[];
  /** There are more, or there may be: an answer holds 16 MiB, and a search looks at 1,000 hits. */
  readonly more?: true | undefined;
};

export type Inject = {
  /** The name of a program with runs of its own. */
  readonly client: string;
  readonly text: string;
};

export type KeptSteps = {
  readonly ids: readonly string[];
  /** The answer is not wanted: end the turn within 5 s. */
  readonly stopped: boolean;
};

export type Levels = {
  readonly joy: number;
  readonly sadness: number;
  readonly anger: number;
  readonly fear: number;
  readonly disgust: number;
};

export type LinkedChat = {
  readonly chat_id: string;
  readonly title: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly created_at: string;
  /** The last message that was copied; absent: none was. */
  readonly message_id?: string | undefined;
  /** The place of that message in the chat that was copied. */
  readonly seq?: number | undefined;
};

export type Matches = {
  readonly matches: readonly {
    readonly id: string;
    readonly seq: number;
    /** ISO 8601, UTC; empty if it is not known. */
    readonly timestamp: string;
  }[];
  /** There are more, or there may be: an answer holds 16 MiB, and a search looks at 1,000 hits. */
  readonly more?: true | undefined;
};

export type Message = {
  readonly id: string;
  /** Its place in the chat's log, from 1. */
  readonly seq: number;
  readonly role: "user" | "assistant" | "tool" | "system";
  readonly content: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly timestamp: string;
  readonly turn?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** The text was cut short. */
  readonly partial?: true | undefined;
  readonly partial_reason?: "stopped" | "error" | "crash" | "length" | "content_filter" | undefined;
  /** What the model thought before it wrote this. */
  readonly reasoning_content?: string | undefined;
  /** Shown on request only. */
  readonly hidden?: true | undefined;
  /** No person wrote it: what the model was told, such as `pat_hint`. */
  readonly synthetic?: string | undefined;
  /** The tools that the model called after this text. */
  readonly tool_calls?: readonly unknown[] | undefined;
  /** On a tool's result: the id of the call. */
  readonly tool_call_id?: string | undefined;
  /** On a tool's result: the tool. Else: who said it. */
  readonly name?: string | undefined;
  /** The tool failed. */
  readonly is_error?: true | undefined;
  readonly stats?: AnswerStats | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** It was replaced by another answer. */
  readonly replaced?: true | undefined;
  /** It was erased: the mark where it stood. Its `role` is `system`. */
  readonly redacted?: true | undefined;
  /** In the newest page, on the newest reply if it was regenerated: the ids of all replies to its message that can be chosen, oldest first, its own among them. */
  readonly variants?: readonly string[] | undefined;
};

export type MessageIds = {
  readonly ids: readonly string[];
};

/** Oldest first. `before` asks for the page before it. */
export type MessagePage = {
  readonly messages: readonly Message[];
  readonly before?: number | undefined;
};

export type MessageReaction = {
  /** The answers and tool results of the turn. */
  readonly message_ids: readonly string[];
  readonly sentiment: "positive" | "negative";
  /** Of its package. */
  readonly name: string;
};

export type MessageReceipt = {
  readonly chat_id: string;
  readonly message_id: string;
  readonly erased: true;
  /** Other chats from which the same message was removed. */
  readonly copies: readonly string[];
  readonly removed: readonly {
    readonly place: string;
    readonly count: number;
  }[];
  /** Places that may still hold it. The same request tries them again. */
  readonly unreachable: readonly string[];
};

export type ModelList = {
  /** What new sessions run on. `offline`: no model is set up. */
  readonly standard: {
    readonly provider: string;
    readonly model: string;
  };
  readonly providers: readonly ProviderModels[];
};

/** `null` where no run was up, or nothing is known. */
export type MoodHistory = {
  readonly from: number;
  readonly to: number;
  /** Milliseconds since 1970, a step apart. */
  readonly at: readonly number[];
  readonly levels: {
    readonly joy: readonly (number | null)[];
    readonly sadness: readonly (number | null)[];
    readonly anger: readonly (number | null)[];
    readonly fear: readonly (number | null)[];
    readonly disgust: readonly (number | null)[];
  };
  readonly boredom: readonly (number | null)[];
  readonly mood: readonly (string | null)[];
  /** There are more, or there may be: an answer holds 16 MiB, and a search looks at 1,000 hits. */
  readonly more?: true | undefined;
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
    readonly to: number | null;
  }[];
  readonly runs: readonly {
    readonly from: number;
    readonly to: number | null;
  }[];
};

export type MoodOverride = {
  readonly mood: string;
  /** Seconds; 10 when absent. */
  readonly duration?: number | undefined;
};

export type MoodSet = {
  readonly status: "set";
  readonly mood: string;
  readonly state: Emotions;
};

export type NewMessage = {
  /** What the person says. Kept word for word. */
  readonly content: string;
  /** Who of a group says it. On one line. */
  readonly name?: string | undefined;
  /** The session's when absent. */
  readonly provider?: string | undefined;
  /** The session's when absent. */
  readonly model?: string | undefined;
};

/** Tokens are estimates. */
export type NextPrompt = {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  /** Of the model, in tokens. */
  readonly window: number | null;
  /** In the order in which the model gets them. Empty ones are left out. */
  readonly sections: readonly PromptSection[];
  readonly total_tokens: number;
  /** What the history and the message may take. */
  readonly history_tokens: number;
  /** What the provider counted for the last prompt. */
  readonly reported_tokens: number | null;
  /** The provider continues its own session: it has the history already. */
  readonly resumes: boolean;
  /** What the next message ends: the session, the provider's part of it, or nothing. */
  readonly ends: "period" | "provider" | "nothing";
  readonly reason: string;
};

export type OfferedModel = {
  readonly model: string;
  /** On the disk of its server. */
  readonly size_bytes?: number | undefined;
  /** Absent: not known. */
  readonly takes_pictures?: boolean | undefined;
};

export type OpenTurn = {
  /** Of the message. Made up when absent. */
  readonly id?: string | undefined;
  /** Absent: a stored message is taken up. */
  readonly content?: string | undefined;
  /** Who of a group says it. On one line. */
  readonly name?: string | undefined;
  /** Who makes the answer: any name. */
  readonly provider: string;
  readonly model: string;
};

export type OpenTurns = {
  readonly turns: readonly {
    readonly turn_id: string;
    readonly state: "running" | "unanswered";
  }[];
};

export type OpenedTurn = {
  readonly session?: Session | undefined;
  /** What the provider can resume; empty: nothing. */
  readonly session_id?: string | undefined;
  /** The provider has nothing to resume. */
  readonly is_new?: boolean | undefined;
  /** Why the session continues, or another one began. */
  readonly reason?: string | undefined;
  readonly user?: Message | undefined;
  /** What the turn has stored since: its steps and answer. */
  readonly messages?: readonly Message[] | undefined;
  /** 2 or more: an attempt before was cut off or failed. */
  readonly attempt?: number | undefined;
  /** The persona and the facts, for the system prompt. */
  readonly instructions?: string | undefined;
  /** What changes from turn to turn, for the prompt's end. */
  readonly context?: string | undefined;
  /** The answer is not wanted: end the turn within 5 s. */
  readonly stopped?: boolean | undefined;
  readonly state: "open" | "running" | "answered";
  readonly turn_id: string;
};

export type Package = {
  readonly name: string;
  /** `bucket`: only the bucket has its files. */
  readonly state: "sealed" | "damaged" | "newer" | "seed" | "bucket";
  readonly detail: string | null;
  readonly bytes: number;
  readonly feedback: Feedback | null;
  readonly status: PackageStatus | null;
};

export type PackageAudio = {
  readonly rate_hz: number;
  readonly samples: number;
  /** Milliseconds from the reaction, negative before it; `null`: not known. */
  readonly start_t_ms: number | null;
};

export type PackageContent = {
  readonly feedback: Feedback;
  readonly messages: readonly PackageMessage[];
  readonly status: PackageStatus | null;
  readonly incomplete: readonly Difference[];
};

/** `feedback.json`, or the list of `messages.json`. */
export type PackageFile = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[];

/** Sorted by the second of the reaction, newest first. */
export type PackageList = {
  readonly packages: readonly Package[];
  readonly cursor: string | null;
};

export type PackageMessage = {
  readonly role: "USER" | "ASSISTANT" | "SYSTEM" | "TOOL";
  readonly text: string;
  readonly id: string;
  readonly seq: number;
  /** Milliseconds from the reaction, negative before it; `null`: not known. */
  readonly t_ms: number | null;
};

export type PackageStatus = {
  readonly uploaded: readonly {
    readonly bucket: string;
    readonly timestamp: number;
  }[];
  readonly retracted: {
    readonly timestamp: number;
    readonly reason: string | null;
  } | null;
  readonly preserved: {
    readonly timestamp: number;
    readonly reason: string | null;
  } | null;
};

export type Person = {
  readonly name: string;
};

export type PersonSeen = {
  readonly last_person_seen: string | null;
  /** Seconds since 1970. */
  readonly last_person_seen_time: number | null;
};

export type Persona = {
  /** What models get now. */
  readonly persona: string;
  readonly source: "file" | "configuration" | "built-in";
  /** Who answers if there is no `persona.md`. */
  readonly default: string;
  /** An estimate of what models get of it. */
  readonly tokens: number;
  /** Of the file; empty: there is none to read. */
  readonly version: string;
  /** Why the file that is there cannot be used, nor edited here. */
  readonly problem: string | null;
  /** `false`: this server keeps nothing. */
  readonly editable: boolean;
  /** Other servers use the same database; each of them has a file of its own. */
  readonly this_server_only: boolean;
  readonly max_bytes: number;
};

export type PersonaChange = {
  /** The new text of `persona.md`. `null` removes the file. */
  readonly persona: string | null;
  /** The `version` that was read. If the text was changed since, this is 409. */
  readonly version: string;
};

export type Preservation = {
  /** `false`: retention may remove it. */
  readonly preserved?: boolean | undefined;
  readonly reason?: string | undefined;
};

export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** What to branch on. */
  readonly code: string;
  readonly turn_id?: string | undefined;
  /** What the model's provider said, in its own words. */
  readonly provider_detail?: string | undefined;
};

export type PromptMessage = {
  readonly role: "user" | "assistant" | "tool";
  readonly content: string;
  readonly tokens: number;
  readonly tool_calls?: readonly unknown[] | undefined;
  readonly tool_call_id?: string | undefined;
  readonly name?: string | undefined;
  readonly is_error?: true | undefined;
};

export type PromptSection = {
  /** `context`: what changes from turn to turn. `message`: the newest message, with those before it that nothing has answered. */
  readonly name: "persona" | "facts" | "tools" | "history" | "context" | "message";
  readonly tokens: number;
  readonly text?: string | undefined;
  /** In place of `text`, of `history`. */
  readonly messages?: readonly PromptMessage[] | undefined;
};

export type ProviderModels = {
  readonly provider: string;
  readonly models: readonly OfferedModel[];
  /** Why the provider's own list is missing. */
  readonly error?: string | undefined;
};

export type ProviderSession = {
  readonly session_id: string;
  /** Answers of this provider in this session. */
  readonly message_count: number;
  /** The sum of the known costs. */
  readonly total_cost_usd: number;
  readonly total_tokens: number;
  /** How many of the tokens have no known cost: their model has no price. */
  readonly unpriced_tokens?: number | undefined;
};

/** `accepted`; or why it was not kept: `throttled` (too soon after the last picture), `off` (no consent), `busy` (the encoder is busy). */
export type Pushed = {
  readonly result: "accepted" | "throttled" | "off" | "busy";
};

export type Reaction = {
  readonly sentiment: "positive" | "negative";
  /** What was liked or disliked. */
  readonly what: string;
  readonly trigger?: string | undefined;
  readonly channel?: "touch" | "speech" | "text" | "button" | "other" | undefined;
  readonly score?: number | undefined;
  readonly correction?: {
    readonly text: string;
    readonly kind: "replacement" | "note";
  } | undefined;
  /** Of the newest message if absent. */
  readonly chat_id?: string | undefined;
  /** The answer that it is about; if absent, the last one. */
  readonly target_message_id?: string | undefined;
  readonly post_roll_ms?: number | undefined;
};

export type ReactionsOfChat = {
  readonly reactions: readonly MessageReaction[];
};

export type Ready = {
  readonly status: "ready";
};

/** `durable`: neither a kill nor a power cut loses it. */
export type Receipt = {
  readonly id: string;
  readonly name: string;
  readonly accepted: boolean;
  readonly durable: boolean;
  readonly uploaded: boolean;
  readonly reason?: string | undefined;
  readonly reduced?: string | undefined;
  readonly duplicate_of?: string | undefined;
};

export type Rename = {
  /** Cut at 120 characters. Empty: the first thing that was said. */
  readonly title: string;
};

export type Reset = {
  /** The provider to start over with. Without it: the provider of the next turn. */
  readonly provider?: string | undefined;
  /** Begin a new session with every provider; not together with `provider`. */
  readonly all?: boolean | undefined;
};

export type ResolvedSession = {
  readonly session: Session;
  /** What the provider can resume; empty: nothing. */
  readonly session_id: string;
  /** The provider has nothing to resume. */
  readonly is_new: boolean;
  /** Why the session continues, or another one began. */
  readonly reason: string;
  readonly ended: "period" | "provider" | "nothing";
  readonly bucket_generation: number;
};

export type Restart = {
  readonly report: {
    readonly kind: "fresh_start" | "crash_recovery" | "short_break" | "long_absence";
    /** Whether the run before ended cleanly. */
    readonly clean: boolean;
    /** Seconds since the last sign of life of the run before; `null`: not known. */
    readonly elapsed: number | null;
    /** `certain`: measured by the machine's uptime. `clock`: by its clock. `uncertain`: the clock went backwards or cannot be used. */
    readonly certainty: "certain" | "clock" | "uncertain";
    readonly previous_session_id: string | null;
    readonly total_sessions: number;
    /** Stored things that could not be read and were set aside, until `doctor --confirm`. */
    readonly quarantined: number;
    /** Messages that the run before left without an answer. */
    readonly interrupted_turns: readonly {
      readonly chat_id: string;
      readonly message_id: string;
    }[];
  };
  readonly deliveries: readonly Delivery[];
  /** Of `text`: as the restart is judged now. */
  readonly kind: "fresh_start" | "crash_recovery" | "short_break" | "long_absence";
  /** Whether a model heard `text`. */
  readonly status: "pending" | "delivered";
  /** The facts, then the restart notice. "": there is nothing to say, or it was heard. */
  readonly text: string;
};

export type RestartDelivered = {
  readonly status: "delivered";
  readonly chats: readonly string[];
};

export type RestartHeard = {
  /** The name of a program with runs of its own. */
  readonly client?: string | undefined;
  /** Of an `inject` event to the client; it covers those before it. */
  readonly id?: string | undefined;
};

export type RetractedInBucket = {
  readonly name: string;
  readonly pending: true;
};

export type Retry = {
  /** The id of the newest message, so that no other is retried by mistake. */
  readonly message_id?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
};

/** The provider could not take the call. It is called again after a wait. */
export type Retrying = {
  readonly reason: string;
  /** The provider's own words. */
  readonly detail?: string | undefined;
  /** The number of the call that follows: 2 for the first retry. */
  readonly attempt: number;
  /** The wait before that call, in seconds. */
  readonly seconds: number;
};

/** The data of each event of `GET /api/events`, by the event's name. */
export type ServerEvents = {
  readonly message: {
    readonly change: "stored";
    readonly chat_id: string;
    readonly message: Message;
  } | {
    readonly change: "taken_back" | "erased" | "chosen";
    readonly chat_id: string;
    readonly message_id: string;
  };
  readonly turn: {
    readonly chat_id: string;
    readonly turn_id: string;
    readonly state: "running" | "answered" | "interrupted" | "failed";
    /** Why nothing could be stored. */
    readonly code?: string | undefined;
  };
  /** A turn waits before it calls its provider again. */
  readonly retrying: {
    readonly reason: string;
    /** The provider's own words. */
    readonly detail?: string | undefined;
    /** The number of the call that follows: 2 for the first retry. */
    readonly attempt: number;
    /** The wait before that call, in seconds. */
    readonly seconds: number;
    readonly chat_id: string;
    readonly turn_id: string;
  };
  readonly session: {
    readonly chat_id: string;
    readonly change: "ended" | "reset" | "provider_reset" | "cleared" | "renamed" | "metadata" | "forked" | "forgotten";
  };
  /** Stored bytes were damaged or missing, and what was done about it. */
  readonly repair: {
    readonly at: string;
    readonly key: string;
    readonly kind: string;
  };
  /** How the companion feels, whenever that changed enough to notice. */
  readonly emotions: {
    readonly levels: Levels;
    readonly boredom: number;
    readonly wounds: readonly Wound[];
    readonly mood: string;
    readonly mood_override: {
      readonly mood: string;
      /** ISO 8601, UTC; empty if it is not known. */
      readonly until: string;
    } | null;
    /** The reason: the event of the newest open wound, else the event that brought the mood, and its age. `null`: no event did. */
    readonly mood_cause: {
      readonly event: string;
      readonly age: number;
    } | null;
    readonly sleep_state: "awake" | "asleep";
    readonly voice_state: "idle" | "listening" | "thinking" | "speaking";
  };
  readonly person: PersonSeen;
  readonly sleep: Sleeping;
  /** A chat got its restart notice. */
  readonly restart: {
    readonly chat_id: string;
    readonly status: "delivered";
  };
  /** What a client's model is to hear, until `POST /api/restart/delivered` names the `id`. */
  readonly inject: {
    readonly client: string;
    readonly id: string;
    readonly text: string;
  };
  /** A package of a reaction changed its state. */
  readonly feedback: {
    readonly type: string;
    readonly receipt: Receipt;
  };
  readonly buffers: Buffers;
};

export type Session = {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly created_at: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly last_active: string;
  readonly generation: number;
  readonly provider_sessions: Readonly<Record<string, ProviderSession>>;
  /** The provider's own; empty: none yet. */
  readonly session_id: string;
  /** With this provider in this session. */
  readonly message_count: number;
  readonly total_cost_usd: number;
  readonly total_tokens: number;
};

export type SessionUsage = {
  /** Counts a repeated request once. */
  readonly id?: string | undefined;
  readonly provider: string;
  readonly model: string;
  /** Of the session, as it was resolved. */
  readonly generation: number;
  /** The same, of its provider. */
  readonly bucket_generation: number;
  /** Negative corrects. */
  readonly tokens?: number | undefined;
  /** `null`: not known. */
  readonly cost_usd?: number | null | undefined;
  /** What the provider resumes next. */
  readonly session_id?: string | undefined;
};

export type SignIn = {
  readonly code: string;
};

export type Sleep = {
  readonly state: "awake" | "asleep";
};

export type Sleeping = {
  readonly sleep_state: "awake" | "asleep";
};

export type Stopped = {
  readonly stopped: boolean;
};

export type TakeBack = {
  readonly ids: readonly string[];
};

export type Touch = {
  /** 1: a light pat; 2: a long one, a scratch of the head. */
  readonly level: 1 | 2;
  /** If absent, the chat in which a person acted last. */
  readonly chat_id?: string | undefined;
};

export type Touched = {
  readonly event: "pat_level1" | "pat_level2";
  readonly state: Emotions;
  /** Whether the model hears of it: in a turn of its own; as an `inject` event, where a client's run is open; in one that is to come already; not, because it was a light one, or there is no chat, no model, or no room. */
  readonly hint: "told" | "sent" | "pending" | "none";
  readonly chat_id: string | null;
  readonly turn_id: string | null;
  /** The package that a rule makes of it, where rules are on. */
  readonly recorded: string | null;
};

export type TurnEnd = {
  /** Of the roles `assistant` and `tool`. One whose id is stored is passed over. */
  readonly messages?: readonly {
    /** A message that is sent again under its id is stored once. */
    readonly id?: string | undefined;
    /** In upper or lower case. */
    readonly role: "user" | "assistant" | "tool" | "system";
    readonly content: string;
    /** ISO 8601 with a zone, or seconds since 1970. Now, when absent. */
    readonly timestamp?: string | number | undefined;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly type: "function";
      readonly function: {
        readonly name: string;
        /** JSON, as the model wrote it. */
        readonly arguments: string;
      };
    }[] | undefined;
    /** On a tool's result: the id of the call. */
    readonly tool_call_id?: string | undefined;
    /** On a tool's result: the tool. On a user's message: who of a group said it. */
    readonly name?: string | undefined;
    /** The tool failed. */
    readonly is_error?: true | undefined;
    /** Set when no person said it: what it is, such as `pat_hint`. */
    readonly synthetic?: string | undefined;
    readonly partial?: true | undefined;
    readonly partial_reason?: "length" | "content_filter" | undefined;
  }[] | undefined;
  readonly outcome?: "answered" | "interrupted" | "failed" | undefined;
  readonly usage?: UsageOfTurn | undefined;
  /** What the provider resumes next. */
  readonly session_id?: string | undefined;
  /** The model was given `context`. */
  readonly used_context?: boolean | undefined;
};

/** The data of each event of a turn, by the event's name. */
export type TurnEvents = {
  readonly accepted: {
    readonly turn_id: string;
    readonly user: Message;
  };
  readonly notice: {
    readonly text: string;
  };
  readonly reasoning: {
    readonly text: string;
  };
  readonly text: {
    readonly text: string;
  };
  /** A stored tool call, with the text before it, or a tool's result. */
  readonly message: {
    readonly message: Message;
  };
  readonly retrying: Retrying;
  readonly result: Answer;
  readonly error: Problem;
};

export type TurnSteps = {
  /** Of the roles `assistant` and `tool`. One whose id is stored is passed over. */
  readonly messages: readonly {
    /** A message that is sent again under its id is stored once. */
    readonly id?: string | undefined;
    /** In upper or lower case. */
    readonly role: "user" | "assistant" | "tool" | "system";
    readonly content: string;
    /** ISO 8601 with a zone, or seconds since 1970. Now, when absent. */
    readonly timestamp?: string | number | undefined;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly type: "function";
      readonly function: {
        readonly name: string;
        /** JSON, as the model wrote it. */
        readonly arguments: string;
      };
    }[] | undefined;
    /** On a tool's result: the id of the call. */
    readonly tool_call_id?: string | undefined;
    /** On a tool's result: the tool. On a user's message: who of a group said it. */
    readonly name?: string | undefined;
    /** The tool failed. */
    readonly is_error?: true | undefined;
    /** Set when no person said it: what it is, such as `pat_hint`. */
    readonly synthetic?: string | undefined;
    readonly partial?: true | undefined;
    readonly partial_reason?: "length" | "content_filter" | undefined;
  }[];
};

export type UsageCounted = {
  readonly chat_id: string;
  readonly provider: string;
  readonly model: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly created_at: string;
  /** ISO 8601, UTC; empty if it is not known. */
  readonly last_active: string;
  readonly generation: number;
  readonly provider_sessions: Readonly<Record<string, ProviderSession>>;
  /** The provider's own; empty: none yet. */
  readonly session_id: string;
  /** With this provider in this session. */
  readonly message_count: number;
  readonly total_cost_usd: number;
  readonly total_tokens: number;
  /** `false`: it is of a session that has ended. */
  readonly counted: boolean;
};

export type UsageOfTurn = {
  readonly input_tokens?: number | null | undefined;
  readonly output_tokens?: number | null | undefined;
  readonly cost_usd?: number | null | undefined;
};

export type Verification = {
  readonly verified: boolean;
  /** `newer`: written by a later version. `seed`: written by the original, not sealed. */
  readonly state: "whole" | "damaged" | "newer" | "seed";
  readonly differences: readonly Difference[];
};

/** What was just said, in this process only. */
export type WorkingMemory = {
  readonly chats: readonly {
    readonly chat_id: string;
    readonly capacity: number;
    readonly count: number;
    readonly full: boolean;
    readonly empty: boolean;
    readonly session_age_seconds: number;
    readonly last_turn: number;
    readonly summary: string;
  }[];
};

export type WorkingMemoryOfChat = {
  readonly chat_id: string;
  readonly utterances: readonly string[];
  /** Such as `GREETING`. */
  readonly intents: readonly string[];
  /** Empty where nothing was answered. */
  readonly responses: readonly string[];
  readonly interactions: readonly {
    readonly turn: number;
    /** ISO 8601, UTC; empty if it is not known. */
    readonly timestamp: string;
    readonly utterance: string;
    readonly intent: string;
    readonly response: string;
    readonly outcome: "answered" | "interrupted" | "failed";
  }[];
};

export type Wound = {
  readonly id: string;
  readonly event: string;
  readonly duration: number;
  readonly age: number;
  /** As they are now. */
  readonly floors: Readonly<Record<string, number>>;
  readonly healing: boolean;
  /** Seconds; `null`: never by itself. */
  readonly heals_in: number | null;
};
