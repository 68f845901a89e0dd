import { join, resolve } from "node:path";
import type { Context } from "../cli/command.ts";
import { addressOf } from "../cli/doctor/model.ts";
import type { Environment } from "../cli/env.ts";
import { describeFailure, Exit, exitCodes, Failed, isErrno, systemReason } from "../cli/failure.ts";
import { counted } from "../cli/format.ts";
import { type Io, tell, untilStopped, write } from "../cli/io.ts";
import { openLog } from "../cli/log.ts";
import { type Flags, resolveSettings, type Settings } from "../cli/settings.ts";
import { configName } from "../cli/settings-table.ts";
import { checkedToken, readTokenFile } from "../cli/token.ts";
import { printableLine } from "../core/chat/printable.ts";
import { errorName, isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { shownModel } from "../core/models/model-name.ts";
import { misconfigured } from "../core/options.ts";
import { noteServer } from "../core/storage/files/lease-holder.ts";
import type { OwnHome } from "../core/storage/storage.ts";
import { isEverywhere } from "../server/guard.ts";
import { type PortOptions, resolvePort } from "../server/options.ts";
import { defaultAddress, openPort, type Port } from "../server/port.ts";
import { createServer, type ThroughlineServer } from "../server/server.ts";
import { doctorRoutes } from "./doctor-routes.ts";
import { type Companion, openCompanion } from "./open-companion.ts";
import { personaRoutes } from "./persona-routes.ts";

/** Answers under way get this long to end once the server is told to. */
const graceMs = 3_000;
/** Then the process exits in any case: it must be gone within 5 s of a signal. */
const deadlineMs = 4_500;

/** `throughline serve`: until a signal ends it. */
export function serve(flags: Flags, context: Context): Promise<void> {
  return untilStopped(context.io, (ending) => serveUntil(ending, flags, context));
}

async function serveUntil(ending: AbortSignal, flags: Flags, context: Context): Promise<void> {
  const { io, env, version } = context;
  const settings = resolveSettings(flags, env);
  const { token, tokenFile } = await tokenOf(flags, settings, env, io);
  const logger = openLog(settings.logLevel, "info");
  const options = { version, logger, hosts: settings.hosts, token };
  let port: Port | undefined;
  let companion: Companion;
  try {
    companion = await openCompanion(settings, logger, async (ownHome) => {
      port = await portOf(options, settings);
      if (ownHome !== undefined) noteAddress(ownHome, port.url, tokenFile, logger);
    });
  } catch (error) {
    await port?.close(Promise.resolve());
    throw error;
  }
  let server: ThroughlineServer | undefined;
  let lost: Failed | undefined;
  try {
    const { throughline, turns, persona, started } = companion;
    const doctor = doctorRoutes(settings, { version, hasToken: token !== undefined });
    const features = [personaRoutes(persona), doctor, ...(await started.routes())];
    server = createServer({ ...options, throughline, turns, features });
    const { url } = await server.listen(port);
    await tellWhereWordsGo(io, settings);
    await tellState(io, companion);
    await tellHosts(io, settings);
    await write(io.output, `Throughline is listening on ${url} (${about(settings, companion)})\n`);
    const stopCodes = await offerCodes(io, server, token, url);
    lost = await untilLost(companion, ending);
    stopCodes();
    if (lost !== undefined)
      await write(io.errors, describeFailure(lost, "", { stack: false }).text);
  } finally {
    const ended = within(deadlineMs, io, () => shutDown(companion, server));
    // Without its home the process can store nothing, and has reported that.
    await (lost === undefined ? ended : ended.catch(() => undefined));
  }
  if (lost !== undefined) throw new Exit(exitCodes.failed);
}

/** How often a server checks that the home is still its own, in milliseconds. */
const lookEveryMs = 1_000;

/**
 * Waits until this process is no longer the writer of its home, also when no turn runs.
 *
 * @returns `undefined`: it was told to end.
 */
function untilLost({ throughline }: Companion, ending: AbortSignal): Promise<Failed | undefined> {
  const { promise, resolve } = Promise.withResolvers<Failed | undefined>();
  const { storage } = throughline;
  const timer = setInterval(() => {
    try {
      storage.ownHome?.assertWriter();
    } catch (cause) {
      const code = isThroughlineError(cause) ? cause.code : "THROUGHLINE_UNAVAILABLE";
      const wayOut = "Make sure that no other process uses this home, then start the server again.";
      const message = cause instanceof Error ? cause.message : "the home cannot be read";
      resolve(new Failed(message, { code, wayOut, cause }));
    }
  }, lookEveryMs);
  if (ending.aborted) resolve(undefined);
  ending.addEventListener("abort", () => resolve(undefined));
  return promise.finally(() => clearInterval(timer));
}

/** Ends the process with 1 when the work takes longer, or when something holds the process after it. */
export async function within(ms: number, io: Io, work: () => Promise<void>): Promise<void> {
  const timer = setTimeout(() => io.exitNow(exitCodes.failed), ms);
  try {
    await work();
  } finally {
    timer.unref();
  }
}

/** Turns first, so that a watcher sees the end of its turn. */
async function shutDown(companion: Companion, server: ThroughlineServer | undefined) {
  try {
    await companion.turns.close(graceMs);
  } finally {
    try {
      // A request with a reaction waits for the save, and the server waits for the request.
      await Promise.all([companion.started.finish(), server?.close()]);
    } finally {
      await companion.close(0);
    }
  }
}

async function tokenOf(
  flags: Flags,
  { tokenFile: path }: Settings,
  env: Environment,
  io: Io,
): Promise<{ readonly token?: string; readonly tokenFile?: string }> {
  if (flags.tokenFile === undefined && env.token !== undefined) {
    if (env.tokenFile !== undefined) {
      throw misconfigured("THROUGHLINE_TOKEN and THROUGHLINE_TOKEN_FILE are both set");
    }
    return { token: checkedToken(env.token, "THROUGHLINE_TOKEN") };
  }
  if (path === undefined) return {};
  const { token, isNew } = readTokenFile(path);
  if (isNew) await tell(io, `Created a new token: ${path}`);
  return { token, tokenFile: resolve(path) };
}

/** Lets a process that is refused the home find this server. It serves also where that cannot be noted. */
function noteAddress(
  ownHome: OwnHome,
  url: string,
  token_file: string | undefined,
  logger: Logger,
): void {
  ownHome.assertWriter();
  try {
    if (noteServer(ownHome.path, { url, token_file })) return;
    logger.warn({}, "lock.json does not name this server");
  } catch (error) {
    logger.warn({ error: errorName(error) }, "lock.json does not name this server");
  }
}

/** From then on a request waits instead of being refused. */
async function portOf(
  options: PortOptions,
  { host = defaultAddress.host, port = defaultAddress.port }: Settings,
): Promise<Port> {
  try {
    return await openPort({ host, port }, resolvePort(options));
  } catch (cause) {
    const code = "THROUGHLINE_CONFIGURATION";
    if (isThroughlineError(cause, "THROUGHLINE_UNAVAILABLE")) {
      const message = `cannot listen at port ${port} on ${host}: ${systemReason(cause.cause)}`;
      const wayOut = isErrno(cause.cause, "EADDRINUSE")
        ? "Stop the program that uses it, or pass another --port or --host. --port 0 picks a free one."
        : "Pass another --host or --port.";
      throw new Failed(message, { code, wayOut, cause });
    }
    if (!isThroughlineError(cause, code)) throw cause;
    const wayOut =
      "Pass --token-file FILE. If the file does not exist, it is created with a new token.";
    throw new Failed(cause.message, { code, wayOut, cause });
  }
}

/** A server on every address is meant for other machines, and so far none is let in. */
async function tellHosts(io: Io, { host = "", hosts = [], home }: Settings): Promise<void> {
  if (!isEverywhere(host) || hosts.length > 0) return;
  await tell(
    io,
    "Requests from other machines are refused until you list the names they use for this one in " +
      `${join(home, configName)}: {"hosts": ["nova.example"]}`,
  );
}

/** Reports what the last run left: repairs, and unanswered messages. */
async function tellState(io: Io, { throughline, turns }: Companion): Promise<void> {
  const { storage, chats } = throughline;
  for (const { key, kind, bytes, quarantined } of storage.repairs()) {
    const kept = quarantined === undefined ? "" : `, kept in ${quarantined}`;
    await tell(io, `Repaired at the start: ${printableLine(key)}: ${kind}, ${bytes} bytes${kept}`);
  }
  const { chats: unanswered, cursor } = await chats.list({ unanswered: true, limit: 100 });
  // Without those that another server is answering.
  const inHand = await Promise.all(unanswered.map(({ chat_id }) => turns.isRunning(chat_id)));
  const waiting = unanswered.filter((_, index) => inHand[index] !== true);
  if (waiting.length === 0) return;
  const count = cursor === undefined ? counted(waiting.length, "chat") : "More than 100 chats";
  const verb = waiting.length === 1 ? "has" : "have";
  const names = waiting.slice(0, 5).map((row) => printableLine(row.chat_id));
  const list = waiting.length > names.length ? [...names, "…"] : names;
  await tell(io, `${count} ${verb} an unanswered message: ${list.join(", ")}`);
}

/** Says where words go: a configuration that came with a restored home may name an unknown address. */
async function tellWhereWordsGo(io: Io, { model, models }: Settings): Promise<void> {
  const address = model === undefined ? undefined : addressOf(model, models);
  if (address !== undefined) await tell(io, `What is said goes to ${address}`);
}

function about(settings: Settings, companion: Companion): string {
  const { standard } = companion.responders;
  const model = standard.provider === "offline" ? "" : "model ";
  const { isEphemeral, store } = settings;
  const place = store === undefined ? `home ${settings.home}` : `store ${store.says}`;
  const home = isEphemeral ? "nothing is stored" : place;
  return `${home}, ${model}${shownModel(standard)}`;
}

/** With a token, at a terminal: Enter prints a code that signs a browser in. @returns what ends it. */
async function offerCodes(
  io: Io,
  server: ThroughlineServer,
  token: string | undefined,
  url: string,
): Promise<() => void> {
  if (token === undefined || !io.isInteractive) return () => undefined;
  const { createInterface } = await import("node:readline");
  const tellCode = () => tell(io, `Sign in at ${url} with ${server.signInCode()} (for 60 s)`);
  const lines = createInterface({ input: io.input, terminal: false });
  lines.on("line", () => void tellCode().catch(() => undefined)); // a terminal that is gone
  void tellCode()
    .then(() => tell(io, "Press Enter for another code."))
    .catch(() => undefined);
  return () => lines.close();
}
