import type { Context } from "../../cli/command.ts";
import { jsonFrom, type ServerTarget, serverTarget, textFrom } from "../../cli/home-server.ts";
import { withMemories } from "../../cli/memories.ts";
import { type Flags, resolveSettings, type Settings } from "../../cli/settings.ts";
import type { ChatRow } from "../../core/chat/chat-head.ts";
import { chatZone } from "../../core/chat/chat-metadata.ts";
import type { FoundChat } from "../../core/chat/find-chats.ts";
import type { MessagePage } from "../../core/chat/message-page.ts";
import type { PeriodView } from "../../core/chat/provider-sessions.ts";
import { type ChatFormat, renderChat } from "../../core/chat/render-chat.ts";
import type { MessageHit } from "../../core/chat/search-chats.ts";
import { invalid, isThroughlineError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { rulesOf, type Throughline } from "../../core/throughline.ts";
import { messageJson } from "../../server/wire.ts";
import type { Reacted } from "../feature.ts";
import { features } from "../features.ts";

interface ListOptions {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly unanswered?: boolean | undefined;
}

interface ShownChat {
  readonly chat: ChatRow;
  /** `null`: none was opened yet. */
  readonly session: PeriodView | null;
  /** That of the person in this chat, where it is known. */
  readonly zone: string | undefined;
}

/** Reads chats: those of a home, or through the server that has the home. Messages are as HTTP shows them. */
export interface ChatReader {
  /** Where a chat tells none: the one of the settings. */
  readonly zone: string;
  list(
    options: ListOptions,
  ): Promise<{ readonly chats: readonly ChatRow[]; readonly cursor?: string }>;
  chat(chatId: string): Promise<ShownChat>;
  /** The newest, oldest first. */
  messages(chatId: string, limit: number): Promise<MessagePage>;
  reactions(chatId: string): Promise<readonly Reacted[]>;
  search(query: string, limit: number, chatId?: string): Promise<readonly MessageHit[]>;
  findChats(query: string, limit: number): Promise<readonly FoundChat[]>;
  export(chatId: string, format: ChatFormat): Promise<AsyncIterable<string>>;
}

/**
 * Reads the chats that the flags name, also while a server has the home.
 *
 * @throws ThroughlineError `THROUGHLINE_LOCKED`: another process has the home, and does not serve it.
 */
export async function withReader<T>(
  flags: Flags,
  context: Context,
  work: (reader: ChatReader, settings: Settings) => Promise<T>,
): Promise<T> {
  let isOpen = false;
  try {
    return await withMemories(flags, context, (throughline, settings) => {
      isOpen = true;
      return work(ofHome(throughline), settings);
    });
  } catch (error) {
    if (isOpen || !isThroughlineError(error, "THROUGHLINE_LOCKED")) throw error;
    const settings = resolveSettings(flags, context.env);
    const server = serverTarget(settings.home, context.env.token);
    if (server === undefined) throw error;
    return work(ofServer(server, rulesOf(settings.freshness).timeZone), settings);
  }
}

function ofHome(throughline: Throughline): ChatReader {
  const { chats, sessions, rules } = throughline;
  const shown = <T extends { readonly message: MessageHit["message"] }>(hit: T): T => {
    return { ...hit, message: messageJson(hit.message) };
  };
  return {
    zone: rules.timeZone,
    list: (options) => chats.list(options),
    chat: async (chatId) => ({
      chat: await chats.row(chatId),
      session: (await sessions.active(chatId)) ?? null,
      zone: chatZone((await chats.existing(chatId)).head),
    }),
    messages: async (chatId, limit) => {
      const { messages, ...rest } = await chats.messages(chatId, { limit });
      return { messages: messages.map(messageJson), ...rest };
    },
    reactions: async (chatId) => {
      const asked = features.map(async ({ reactions }) => reactions?.(throughline, chatId) ?? []);
      return (await Promise.all(asked)).flat();
    },
    search: async (query, limit, chatId) => {
      return (await chats.search(query, { limit, chatId, prefix: true })).map(shown);
    },
    findChats: async (query, limit) => {
      const found = await chats.findChats(query, { limit, prefix: true });
      return found.map((row) => (row.match ? { ...row, match: messageJson(row.match) } : row));
    },
    export: (chatId, format) => renderChat(chats, chatId, format, rules.timeZone),
  };
}

/** What `GET /api/chats/{id}` answers, of which the session is a part. */
interface ServedChat extends PeriodView {
  readonly row: ChatRow;
  readonly metadata: JsonObject;
}

function ofServer(server: ServerTarget, zone: string): ChatReader {
  return {
    zone,
    list: (options) => jsonFrom(server, "/api/chats", { ...options }),
    chat: async (chatId) => {
      const served = await jsonFrom<ServedChat>(server, pathOf(chatId));
      const { row: chat, metadata } = served;
      return { chat, session: sessionOf(served), zone: chatZone({ metadata }) };
    },
    messages: (chatId, limit) => jsonFrom(server, `${pathOf(chatId)}/messages`, { limit }),
    reactions: async (chatId) => {
      const path = `${pathOf(chatId)}/reactions`;
      try {
        return (await jsonFrom<{ reactions: readonly Reacted[] }>(server, path)).reactions;
      } catch (error) {
        if (isThroughlineError(error, "THROUGHLINE_NOT_FOUND")) return []; // it keeps no moments
        throw error;
      }
    },
    search: async (query, limit, chat_id) => {
      const asked = { query, limit, chat_id, prefix: true };
      return (await jsonFrom<{ hits: readonly MessageHit[] }>(server, "/api/search", asked)).hits;
    },
    findChats: async (query, limit) => {
      const asked = { query, limit, prefix: true };
      return (await jsonFrom<{ chats: readonly FoundChat[] }>(server, "/api/chats", asked)).chats;
    },
    export: (chatId, format) => textFrom(server, `${pathOf(chatId)}/export`, { format }),
  };
}

function sessionOf(served: ServedChat): PeriodView | null {
  if (served.row.generation === 0) return null;
  const { chat_id, provider, model, created_at, last_active, generation } = served;
  const { provider_sessions, session_id, message_count, total_cost_usd, total_tokens } = served;
  return {
    chat_id,
    provider,
    model,
    created_at,
    last_active,
    generation,
    provider_sessions,
    session_id,
    message_count,
    total_cost_usd,
    total_tokens,
  };
}

function pathOf(chatId: string): string {
  // An address has no part of this name: it would mean the folder before it.
  if (chatId === "." || chatId === "..") {
    throw invalid(`a chat with the id "${chatId}" cannot be read through a server: stop it first`);
  }
  return `/api/chats/${encodeURIComponent(chatId)}`;
}
