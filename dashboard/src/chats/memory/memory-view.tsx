import { useQuery } from "@tanstack/react-query";
import { queryClient, request } from "../../api/client.ts";
import { useServerEvent } from "../../api/events.ts";
import type { WorkingMemory } from "../../api/openapi-types.ts";
import { QueryError } from "../../ui/error-note.tsx";
import { Empty, Loading, Page } from "../../ui/page.tsx";
import { useNow } from "../../ui/time.tsx";
import { ChatMemory } from "./chat-memory.tsx";
import "./memory.css";

const memoryKey = ["memory"] as const;

/** The working memory of each chat, as models receive it. */
export function MemoryView() {
  const again = () => void queryClient.invalidateQueries({ queryKey: memoryKey });
  useServerEvent("turn", again);
  useServerEvent("session", again);
  const query = useQuery({
    queryKey: memoryKey,
    queryFn: ({ signal }) => request<WorkingMemory>("/api/memory", { signal }),
  });
  const { data, dataUpdatedAt, isPending } = query;
  const elapsed = Math.max(0, (useNow() - dataUpdatedAt) / 1000);
  return (
    <Page title="Memory">
      <div className="memory">
        <p className="memory-says">
          The last few exchanges of each chat, as a model receives them with the next message. They
          are kept in memory while the server runs, and not written to the disk.
        </p>
        <QueryError query={query} />
        {isPending ? <Loading label="Loading the memory" /> : null}
        {data?.chats.length === 0 ? (
          <Empty title="Nothing here yet">Send a message in a chat, and it appears here.</Empty>
        ) : null}
        {data?.chats.map((chat) => (
          <ChatMemory key={chat.chat_id} memory={chat} elapsed={elapsed} />
        ))}
      </div>
    </Page>
  );
}
