import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { detailOf, request } from "../api/client.ts";
import type { Touch, Touched } from "../api/openapi-types.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { useCompanionRun } from "./use-companion.ts";

const noticeMs = 4_000;

interface Kind {
  readonly level: Touch["level"];
  readonly icon: IconName;
  readonly label: string;
}

const kinds: readonly Kind[] = [
  { level: 1, icon: "pat", label: "Pat" },
  { level: 2, icon: "scratch", label: "Scratch its head: I liked that" },
];

interface PatButtonsProps {
  /** Absent as long as the chat has no message. */
  readonly chatId: string | undefined;
}

/** Touching the companion: a pat, and a scratch of the head, from which it learns. */
export function PatButtons({ chatId }: PatButtonsProps) {
  const isAwake = useCompanionRun().data !== undefined;
  const [notice, setNotice] = useState("");
  const touching = useMutation({
    mutationFn: (level: Touch["level"]) => {
      const body: Touch = { level, chat_id: chatId };
      return request<Touched>("/api/touch", { method: "POST", body });
    },
    onMutate: () => setNotice(""),
    onSuccess: ({ hint }) => {
      setNotice(
        hint === "none" ? "It felt that." : "It felt that, and is thinking about what it did.",
      );
    },
    onError: (error) => setNotice(detailOf(error)),
  });
  useEffect(() => {
    if (notice === "") return;
    const timer = setTimeout(() => setNotice(""), noticeMs);
    return () => clearTimeout(timer);
  }, [notice]);
  // Without a companion there is nothing to touch.
  if (!isAwake) return null;
  return (
    <>
      {kinds.map(({ level, icon, label }) => (
        <Button
          key={level}
          kind="quiet"
          className="button-icon pat"
          aria-label={label}
          title={label}
          isBusy={touching.isPending}
          onClick={() => touching.mutate(level)}
        >
          <Icon name={icon} />
        </Button>
      ))}
      <p className="pat-note" role="status">
        {notice}
      </p>
    </>
  );
}
