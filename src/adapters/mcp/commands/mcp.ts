import { once } from "node:events";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Context } from "../../../cli/command.ts";
import { isErrno } from "../../../cli/failure.ts";
import { openLog } from "../../../cli/log.ts";
import { serverTarget } from "../../../cli/routes.ts";
import { type Flags, resolveSettings, type Settings } from "../../../cli/settings.ts";
import { isThroughlineError } from "../../../core/errors.ts";
import { tooLarge } from "../../../core/json.ts";
import type { Logger } from "../../../core/logger.ts";
import { serverOf } from "../../../core/storage/files/lease-holder.ts";
import type { Throughline } from "../../../core/throughline.ts";
import { forwardingServer } from "../forward.ts";
import type { Remember } from "../remember.ts";
import { serverOver } from "../server.ts";

/** A home, with all that keeps something of a chat. */
interface OpenedMcp {
  readonly throughline: Throughline;
  readonly remember?: Remember | undefined;
  close(): Promise<void>;
}

/** @throws ThroughlineError `THROUGHLINE_LOCKED`: another process has the home. */
export type OpenMcp = (settings: Settings, logger: Logger) => Promise<OpenedMcp>;

type Factory = Parameters<typeof serveStdio>[0];

/** How long requests may be answered once the client has said all, in milliseconds. */
const answerMs = 2_000;
/** Longest message of a client. */
const maxMessageBytes = 10 * 1024 * 1024;

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
  let failure: unknown;
  try {
    const left = once(output, "close").catch(() => undefined);
    const { transport, closed } = answeringTransport(input, output);
    const connection = serveStdio(factory, {
      transport,
      onerror: (error) => {
        failure = error;
        logger.warn({ error: error.name }, "an MCP message could not be handled");
      },
    });
    const isCut = closed(connection).then(() => !input.readableEnded && !isErrno(failure, "EPIPE"));
    if ((await Promise.race([stopped.promise, isCut, left])) === true) {
      throw tooLarge("a message of the client is longer than 10 MiB: send less at once");
    }
    await connection.close();
  } finally {
    input.unpipe().pause(); // or it holds the process
    await opened?.close();
  }
}

/** A transport that closes at the end of its input, but once what was asked is answered. */
function answeringTransport(input: Readable, output: Writable) {
  const asked = new Set<unknown>();
  const over = Promise.withResolvers<void>();
  let isAtEnd = false;
  const endOnceAnswered = () => void (isAtEnd && asked.size === 0 && over.resolve());
  const flush = (done: () => void) => {
    isAtEnd = true;
    setTimeout(over.resolve, answerMs).unref();
    setImmediate(endOnceAnswered); // what came last is being read
    void over.promise.then(done);
  };
  const given = input.pipe(new PassThrough({ flush }));
  input.once("close", () => given.end()); // also without an end
  const transport = new StdioServerTransport(given, output, { maxBufferSize: maxMessageBytes });
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!("method" in message)) asked.delete(message.id);
    endOnceAnswered();
  };
  /** Resolves when the transport closes, by itself or not. @param _ it listens by now. */
  const closed = (_: object) =>
    new Promise<void>((resolve) => {
      const { onmessage, onclose } = transport;
      transport.onmessage = (message) => {
        if ("method" in message && "id" in message) asked.add(message.id);
        onmessage?.(message);
      };
      transport.onclose = () => {
        onclose?.();
        resolve();
      };
    });
  return { transport, closed };
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
