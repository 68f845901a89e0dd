import { useMutation } from "@tanstack/react-query";
import { chatPath, queryClient, request } from "../../api/client.ts";
import type { CompanionRun } from "../../api/openapi-types.ts";
import { ChatLink } from "../../chats/chat-link.tsx";
import { chatQuery, useChat } from "../../chats/use-chat.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";

type Turns = CompanionRun["interrupted_turns"];

/** Messages that had no answer when the last run ended, by chat. */
export function Interrupted({ turns }: { readonly turns: Turns }) {
  if (turns.length === 0) return null;
  const byChat = new Map<string, readonly string[]>();
  for (const { chat_id: chatId, message_id: id } of turns) {
    byChat.set(chatId, [...(byChat.get(chatId) ?? []), id]);
  }
  return (
    <section className="card" aria-labelledby="interrupted-title">
      <h2 id="interrupted-title">Interrupted messages</h2>
      <ul className="restart-list">
        {[...byChat].map(([chatId, messageIds]) => (
          <InterruptedChat key={chatId} chatId={chatId} messageIds={messageIds} />
        ))}
      </ul>
    </section>
  );
}

interface Props {
  readonly chatId: string;
  readonly messageIds: readonly string[];
}

function InterruptedChat({ chatId, messageIds }: Props) {
  const { data } = useChat(chatId);
  const act = useMutation({
    mutationFn: (what: "answer" | "dismiss") =>
      request(`${chatPath(chatId)}/${what}`, { method: "POST" }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: chatQuery(chatId).queryKey }),
  });
  const left = messageIds.filter((id) => data?.unanswered_ids.includes(id) ?? true).length;
  const isAnswering = data?.running === true || (act.isPending && act.variables === "answer");
  return (
    <li tabIndex={-1}>
      <div className="restart-words">
        <ChatLink chatId={chatId} title={data?.title ?? chatId} />
        <p className="hint" role="status">
          {isAnswering ? "Answering…" : leftInWords(left)}
        </p>
      </div>
      {left === 0 || isAnswering ? null : (
        <div className="row restart-actions">
          <Button isBusy={act.isPending} onClick={() => act.mutate("answer")}>
            Answer
          </Button>
          <Button isBusy={act.isPending} onClick={() => act.mutate("dismiss")}>
            Dismiss
          </Button>
        </div>
      )}
      <ErrorNote error={act.error} />
    </li>
  );
}

function leftInWords(left: number): string {
  if (left === 0) return "Answered or dismissed since.";
  return left === 1 ? "One message has no answer." : `${left} messages have no answer.`;
}
