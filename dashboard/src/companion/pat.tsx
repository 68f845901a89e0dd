import { useMutation } from "@tanstack/react-query";
import { detailOf, request } from "../api/client.ts";
import type { Touch, Touched } from "../api/openapi-types.ts";
import { Store, useStore } from "../api/store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { usePassingWords } from "../ui/passing-words.ts";
import { useCompanionRun } from "./use-companion.ts";

const noticeMs = 4_000;

interface Kind {
  readonly level: Touch["level"];
  readonly word: string;
  readonly label: string;
}

const kinds: readonly Kind[] = [
  { level: 1, word: "Pat", label: "Pat" },
  { level: 2, word: "Scratch", label: "Scratch its head: I liked that" },
];

const pats = new Store(0);

/** How often it was touched on this page. */
export function usePats(): number {
  return useStore(pats);
}

interface PatButtonsProps {
  /** Absent as long as the chat has no message. */
  readonly chatId: string | undefined;
}

/** Touching the companion: a pat, and a scratch of the head, from which it learns. */
export function PatButtons({ chatId }: PatButtonsProps) {
  const isAwake = useCompanionRun().data !== undefined;
  const [notice, setNotice] = usePassingWords(noticeMs);
  const touching = useMutation({
    mutationFn: (level: Touch["level"]) => {
      const body: Touch = { level, chat_id: chatId };
      return request<Touched>("/api/touch", { method: "POST", body });
    },
    onMutate: () => setNotice(""),
    onSuccess: ({ hint }) => {
      pats.set(pats.get() + 1);
      setNotice(
        hint === "none" ? "It felt that." : "It felt that, and is thinking about what it did.",
      );
    },
    onError: (error) => setNotice(detailOf(error)),
  });
  // Without a companion there is nothing to touch.
  if (!isAwake) return null;
  const touch = (level: Touch["level"]) => {
    if (!touching.isPending) touching.mutate(level);
  };
  return (
    <>
      <span className="pats-wide">
        {kinds.map(({ level, word, label }) => (
          <Button
            key={level}
            kind="quiet"
            aria-label={label}
            title={label}
            isBusy={touching.isPending}
            onClick={() => touch(level)}
          >
            {word}
          </Button>
        ))}
      </span>
      <span className="pats-narrow">
        <Menu label="Pat or scratch" sign={<Icon name="pat" />}>
          {kinds.map(({ level, label }) => (
            <button key={level} type="button" onClick={() => touch(level)}>
              {label}
            </button>
          ))}
        </Menu>
      </span>
      <p className="floating pat-note" role="status">
        {notice}
      </p>
    </>
  );
}
