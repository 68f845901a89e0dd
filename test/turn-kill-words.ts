// What the two processes of the turn kill test have in common.

export const chat = "telegram:42";
export const hello = "Hello";
export const question = { id: "question", content: "Please switch the lamp on." };
export const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0.5 };

export const journalOf = (home: string) => `${home}.journal`;

export type KillPlace =
  | "before the user's message"
  | "in the user's message"
  | "before the sync of the user's message"
  | "when the model is asked"
  | "in the middle of the stream"
  | "before the answer"
  | "in the answer"
  | "before the sync of the answer"
  | "after the turn";
