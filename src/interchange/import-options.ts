import type { Chats } from "../core/chat/chats.ts";
import type { Clock } from "../core/clock.ts";
import type { SetAside } from "./report.ts";

export interface ImportOptions {
  readonly chats: Chats;
  readonly clock: Clock;
  /** A known zone, in which stamps without one are read. */
  readonly zone: string;
  /** The chat to import into, for a source of one chat. Default: the chat that the source names. */
  readonly into?: string | undefined;
  /** Brings back what a person had forgotten, redacted, erased or cleared. @default false */
  readonly force?: boolean | undefined;
  /** Reads and reports, and writes nothing. @default false */
  readonly dryRun?: boolean | undefined;
  /**
   * Keeps bytes that could not be used, before the import of their source is done. Called in order;
   * one piece may come in several calls. Not called for a source that adds nothing.
   */
  readonly keep?: ((bytes: Uint8Array, of: KeptFor) => Promise<void>) | undefined;
}

export interface KeptFor {
  readonly chatId: string;
  /** Of all bytes of the source, 12 hex digits: the same for the same source. */
  readonly digest: string;
  readonly piece: SetAside;
}
