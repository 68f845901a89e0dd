import { once } from "node:events";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Context } from "../../../cli/command.ts";
import { serverTarget } from "../../../cli/home-server.ts";
import { openLog } from "../../../cli/log.ts";
import { type Flags, resolveSettings, type Settings } from "../../../cli/settings.ts";
import { isThroughlineError } from "../../../core/errors.ts";
import type { Logger } from "../../../core/logger.ts";
import { serverOf } from "../../../core/storage/files/lease-holder.ts";
import type { Throughline } from "../../../core/throughline.ts";
import { forwardingServer } from "../forward.ts";
import type { Remember } from "../mcp.ts";
import { serverOver } from "../server.ts";

/** A home, with all that keeps something of a chat. */
export interface OpenedMcp {
  readonly throughline: Throughline;
  readonly remember?: Remember | undefined;
  close(): Promise<void>;
}

/** @throws ThroughlineError `THROUGHLINE_LOCKED`: another process has the home. */
export type OpenMcp = (settings: Settings, logger: Logger) => Promise<OpenedMcp>;

type Factory = Parameters<typeof serveStdio>[0];

/** `throughline mcp`: until the client closes stdin, or a signal. */
export async function mcp(
  flags: Flags,
  { io, env, version }: Context,
  open: OpenMcp,
): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  io.onSignal(() => stopped.resolve());
  const settings = resolveSettings(flags, env);
  const logger = openLog(settings.logLevel, "warn");
  const opened = await openUnlessServed(settings, logger, open);
  const { input, output } = io;
  const factory: Factory =
    opened === undefined
      ? forwardingServer(() => serverTarget(settings.home, env.token), version)
      : serverOver(opened.throughline, { version, remember: opened.remember });
  try {
    const ended = [once(input, "end"), once(input, "close"), once(output, "close")];
    const connection = serveStdio(factory, {
      transport: new StdioServerTransport(input, output),
      onerror: ({ name }) => logger.warn({ error: name }, "an MCP message could not be handled"),
    });
    await Promise.race([stopped.promise, ...ended.map((each) => each.catch(() => undefined))]);
    await connection.close();
  } finally {
    await opened?.close();
  }
}

/** @returns `undefined`: a server has the home. */
async function openUnlessServed(
  settings: Settings,
  logger: Logger,
  open: OpenMcp,
): Promise<OpenedMcp | undefined> {
  try {
    return await open(settings, logger);
  } catch (error) {
    const isHeld = isThroughlineError(error, "THROUGHLINE_LOCKED");
    if (isHeld && serverOf(settings.home) !== undefined) return undefined;
    throw error;
  }
}
