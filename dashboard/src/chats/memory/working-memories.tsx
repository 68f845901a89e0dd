import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { queryClient, request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { WorkingMemory } from "../../api/openapi-types.ts";
import { Loaded } from "../../ui/error-note.tsx";
import { useNow } from "../../ui/time.tsx";
import { ChatMemory } from "./chat-memory.tsx";

const memoryKey = ["memory"] as const;

/** The working memory of each chat: what was said last. */
export function WorkingMemories() {
  const titleId = useId();
  const again = () => void queryClient.invalidateQueries({ queryKey: memoryKey });
  useServerEvent("turn", again);
  useServerEvent("session", again);
  const query = useQuery({
    queryKey: memoryKey,
    queryFn: ({ signal }) => request<WorkingMemory>("/api/memory", { signal }),
  });
  const elapsed = Math.max(0, (useNow() - query.dataUpdatedAt) / 1000);
  return (
    <section className="stack memory-list" aria-labelledby={titleId}>
      <h2 id={titleId}>Working memory</h2>
      <p className="hint memory-says">
        The last few exchanges of each chat. Models with a small window get them in place of the
        history. They are kept in memory while the server runs, and not written to the disk.
      </p>
      <Loaded query={query} what="the memory">
        {({ chats }) =>
          chats.length === 0 ? (
            <p className="hint">Nothing here yet. Send a message in a chat, and it appears here.</p>
          ) : (
            chats.map((chat) => <ChatMemory key={chat.chat_id} memory={chat} elapsed={elapsed} />)
          )
        }
      </Loaded>
    </section>
  );
}
