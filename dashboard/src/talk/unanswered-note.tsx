import { Button } from "../ui/button.tsx";

interface UnansweredNoteProps {
  readonly count: number;
  readonly answer: () => void;
  readonly leave: () => void;
}

/** What a crash or a failed model left without an answer: the person decides. */
export function UnansweredNote({ count, answer, leave }: UnansweredNoteProps) {
  const what =
    count === 1 ? "A message has no answer yet." : `${count} messages have no answer yet.`;
  return (
    <section className="offer" aria-label="Unanswered messages">
      <p>{what}</p>
      <div>
        <Button kind="quiet" onClick={leave}>
          {count === 1 ? "Leave it" : "Leave them"}
        </Button>
        <Button onClick={answer}>Answer {count === 1 ? "it" : "the first"}</Button>
      </div>
    </section>
  );
}
