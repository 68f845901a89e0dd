// Which model a chat runs on: what was chosen for it, what it ran on, or what new chats run on.
import { useQuery } from "@tanstack/react-query";
import { queryClient, request } from "../../api/client.ts";
import type { Chat, ModelList } from "../../api/openapi-types.ts";
import { isOffered, isSameModel, type Model } from "./model-names.ts";

const listKey = ["models"];
const storageKey = "throughline-model";

/** The models that the server offers. */
export function useModels() {
  return useQuery({
    queryKey: listKey,
    queryFn: async ({ signal }) => {
      const list = await request<ModelList>("/api/models", { signal });
      // A server that started since does not know that this browser's person chose it.
      const isChosen = storedModel()?.provider === "ollama";
      const isOnlyOffline = list.standard.provider === "offline";
      if (!isChosen || !isOnlyOffline || list.providers.some(isOllama)) return list;
      return request<ModelList>("/api/models?ollama=true", { signal });
    },
    staleTime: 60_000,
  });
}

/**
 * Asks the providers for their lists again, also those that were asked a moment ago.
 *
 * @param ollama looks for an Ollama on the server's machine too. @default false
 */
export async function askModelsAgain(ollama = false): Promise<void> {
  const path = `/api/models?again=true${ollama ? "&ollama=true" : ""}`;
  queryClient.setQueryData(listKey, await request<ModelList>(path));
}

/**
 * What the next turn of a chat runs on, if nothing is chosen for it; `undefined`: not known yet.
 *
 * @param chat `null`: nothing was said in it yet.
 */
export function currentModel(
  chat: Chat | null | undefined,
  list: ModelList | undefined,
): Model | undefined {
  if (chat === undefined) return undefined;
  if (hasModel(chat)) return modelOf(chat);
  return (hasSession(chat) ? undefined : lastChosen(list)) ?? list?.standard;
}

/** Whether the next turn continues a session. */
export function hasSession(chat: Chat | null | undefined): chat is Chat {
  return chat != null && chat.generation > 0;
}

/** Whether it runs on a model of its own: without one it continues with that of new chats. */
function hasModel(chat: Chat | null | undefined): chat is Chat {
  return hasSession(chat) && chat.provider !== "offline";
}

/** Whether a chat runs on this model by itself. */
export function isOwnModel(chat: Chat | null | undefined, model: Model | undefined): boolean {
  return hasModel(chat) && isSameModel(chat, model);
}

/**
 * The model that a message of this chat has to name; `undefined`: the server takes that by itself.
 *
 * @param chosen for this chat.
 */
export function modelToAsk(chatId: string, chosen: Model | undefined): Model | undefined {
  if (chosen !== undefined) return chosen;
  const chat = queryClient.getQueryData<Chat | null>(["chat", chatId]);
  const list = queryClient.getQueryData<ModelList>(listKey);
  const current = currentModel(chat, list);
  return hasSession(chat) || isSameModel(current, list?.standard) ? undefined : current;
}

/** What a copy of a chat has to name to run on the same model as that. */
export function modelOfChat(chatId: string, chosen: Model | undefined): Model | undefined {
  const chat = queryClient.getQueryData<Chat | null>(["chat", chatId]);
  const list = queryClient.getQueryData<ModelList>(listKey);
  const model = chosen ?? currentModel(chat, list);
  return isSameModel(model, list?.standard) ? undefined : model;
}

/** Chats that begin later in this browser run on it, too. */
export function keepForNewChats({ provider, model }: Model): void {
  try {
    localStorage.setItem(storageKey, JSON.stringify({ provider, model }));
  } catch {
    // this browser stores nothing
  }
}

/** What was chosen last in this browser, if the server still offers it. */
function lastChosen(list: ModelList | undefined): Model | undefined {
  const last = storedModel();
  return list !== undefined && last !== undefined && isOffered(list, last) ? last : undefined;
}

function storedModel(): Model | undefined {
  try {
    const last: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "null");
    return isModel(last) ? modelOf(last) : undefined;
  } catch {
    return undefined; // as above, or something else stands there
  }
}

export const isOllama = ({ provider }: { readonly provider: string }) => provider === "ollama";

function isModel(value: unknown): value is Model {
  if (typeof value !== "object" || value === null) return false;
  const { provider, model } = value as Readonly<Record<string, unknown>>;
  return typeof provider === "string" && typeof model === "string";
}

function modelOf({ provider, model }: Model): Model {
  return { provider, model };
}
