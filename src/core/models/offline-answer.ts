/** One message of the conversation as the offline responder sees it. */
export interface HeardMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** The names of files that came with it. */
  readonly files?: readonly string[];
}

/**
 * What the built-in responder answers: the same for the same conversation, honest about not being a
 * language model and about what is kept, and enough to see that a conversation is. `heard` is oldest
 * first and ends with the person's newest message.
 *
 * @param isKept whether what is said is still there when this program has ended.
 */
export function offlineAnswer(heard: readonly HeardMessage[], isKept = true): string {
  const said = heard.filter((message) => message.role === "user").map((message) => message.text);
  const newest = said.at(-1) ?? "";
  const answer = rules.find(({ asks }) => asks.test(newest))?.answer ?? echo;
  const first = !heard.some((message) => message.role === "assistant");
  const files = heard.findLast((message) => message.role === "user")?.files ?? [];
  const spoken = answer({ newest, previous: said.at(-2), seen: heard.length, isKept });
  const words = files.length === 0 ? spoken : `${filesNote(files)} ${spoken}`;
  return first && answer !== introduce ? `${words} ${introduce({ isKept })}` : words;
}

interface Heard {
  readonly newest: string;
  /** What the person said before. */
  readonly previous: string | undefined;
  /** How many messages of the conversation are in view, the newest one included. */
  readonly seen: number;
  readonly isKept: boolean;
}

const introduction =
  "I am Throughline's built-in responder, not a language model: none is configured. " +
  "To talk to one, start with `--model ollama/qwen3` for a local Ollama, or set OPENAI_API_KEY and " +
  "start with `--model openai/` and the name of a model.";

/** The first rule that the newest message asks for wins. Each pattern is linear in its length. */
const rules: readonly { readonly asks: RegExp; readonly answer: (heard: Heard) => string }[] = [
  {
    asks: /\bwhat (?:did|have) i (?:just )?(?:say|said|tell|told|write|written|ask|asked)\b/i,
    answer: recall,
  },
  {
    asks: /\bmy (?:last|previous) (?:message|question|words)\b|\bdo you remember\b/i,
    answer: recall,
  },
  {
    asks: /\bhow many messages\b|\bhow long is (?:this|our) (?:chat|conversation)\b/i,
    answer: count,
  },
  {
    asks: /\b(?:who|what) are you\b|\bare you (?:an? )?(?:ai|bot|human|real|model)\b/i,
    answer: introduce,
  },
  {
    asks: /^\W*(?:help|set ?up|configure)\b|\bhow (?:do|can) i (?:set|configure|use|add)\b/i,
    answer: introduce,
  },
  {
    asks: /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|moin|guten \w+|bonjour|salut|hola|ciao|ol\u00e1)(?![\p{L}\p{N}_])/iu,
    answer: ({ seen }) => (seen > 1 ? "Hello again!" : "Hello!"),
  },
  { asks: /^\W*(?:thanks|thank you|danke|merci|gracias)\b/i, answer: () => "You are welcome." },
  { asks: /^\W*(?:bye|goodbye|good night|see you)\b/i, answer: farewell },
];

function recall({ previous, seen }: Heard): string {
  if (previous === undefined) return "This is the first message of yours that I can see.";
  return `Before this you said: ${quote(previous)} I can see ${messages(seen)} of our conversation.`;
}

function count({ seen }: Heard): string {
  return `I can see ${messages(seen)} of our conversation, this one included.`;
}

function introduce({ isKept }: Pick<Heard, "isKept">): string {
  const kept = isKept
    ? "What you say here is kept either way."
    : "Nothing that you say here is kept: it is gone when this program ends.";
  return `${introduction} ${kept}`;
}

function farewell({ isKept }: Heard): string {
  return isKept
    ? "Goodbye. What we said will still be here."
    : "Goodbye. Nothing of what we said is kept.";
}

function echo({ newest, seen, isKept }: Heard): string {
  const heard = newest.trim() === "" ? "You sent no words." : `You said: ${quote(newest)}`;
  return `${heard} It is message ${seen} that I can see here, and it is ${isKept ? "" : "not "}kept.`;
}

function filesNote(names: readonly string[]): string {
  const them = names.length === 1 ? "it" : "them";
  return `I got ${names.join(", ")}, but I cannot look into ${them}: I am not a language model.`;
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${count} messages`;
}

/** One line of at most 200 characters, in quotes, ending as a sentence does. */
function quote(text: string): string {
  const letters = [
    ...text
      .slice(0, 1_000)
      .replace(/[\s\p{Cc}]+/gu, " ")
      .trim(),
  ];
  const cut = letters.length > 200 || text.length > 1_000;
  return cut ? `"${letters.slice(0, 200).join("")}…".` : `"${letters.join("")}".`;
}
