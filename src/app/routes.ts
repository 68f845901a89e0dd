// How a command gets the routes of a home: from the server that has it, else from a server in this process.
import type { Context, Prepare } from "../cli/command.ts";
import { Failed } from "../cli/failure.ts";
import { assertHomeExists } from "../cli/home.ts";
import { tell } from "../cli/io.ts";
import { openLog } from "../cli/log.ts";
import { Routes, routesOfServer, serverTarget } from "../cli/routes.ts";
import { type Flags, resolveSettings, type Settings } from "../cli/settings.ts";
import { isThroughlineError } from "../core/errors.ts";
import { silentLogger } from "../core/logger.ts";
import { refusals } from "../server/problem.ts";
import { createServer, type ServerOptions } from "../server/server.ts";
import { features } from "./features.ts";
import { openCompanion, openMemories } from "./open-companion.ts";

/** What is open in this process while a command works. */
interface Opened extends Pick<ServerOptions, "throughline" | "turns" | "features"> {
  /** Once the turns are over. */
  close(): Promise<void>;
}

/** @param isServed a server has the home: another process answers. */
type Work<T> = (routes: Routes, settings: Settings, isServed: boolean) => Promise<T>;

/** How long an answer may take once the command is told to end, in milliseconds. */
const graceMs = 1_000;

/** Prepares for what removes something of a chat: what each feature keeps of it is removed too. */
export const everywhere: Prepare = async (throughline) => {
  for (const { extend } of features) await extend?.(throughline);
  return [];
};

/**
 * Works with the chats of a home or a database that exists. No model is asked, and no run of the companion
 * begins.
 *
 * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: there is no home. `THROUGHLINE_LOCKED`: another process
 *   has it, and does not serve it.
 */
export function withRoutes<T>(
  flags: Flags,
  context: Context,
  work: Work<T>,
  prepare: Prepare = async () => [],
): Promise<T> {
  const settings = resolveSettings(flags, context.env);
  if (settings.store === undefined) assertHomeExists(settings.home);
  const open = async (): Promise<Opened> => {
    const throughline = await openMemories(settings, {
      logger: openLog(settings.logLevel, "warn"),
    });
    const close = () => throughline.close();
    try {
      const routes = await prepare(throughline, settings);
      return { throughline, turns: await throughline.turns(), features: routes, close };
    } catch (error) {
      await close();
      throw error;
    }
  };
  return withOpened(settings, context, open, work);
}

/**
 * Does the same where a model may be asked: a run of the companion begins, unless a server has the home.
 * Makes a home that is not there.
 */
export function withModelRoutes<T>(
  settings: Settings,
  context: Context,
  work: Work<T>,
): Promise<T> {
  const open = async () => {
    const companion = await openCompanion(settings, openLog(settings.logLevel, "error"));
    return { ...companion, close: () => companion.close(0) };
  };
  return withOpened(settings, context, open, work);
}

async function withOpened<T>(
  settings: Settings,
  context: Context,
  open: () => Promise<Opened>,
  work: Work<T>,
): Promise<T> {
  let opened: Opened;
  try {
    opened = await open();
  } catch (error) {
    if (!isThroughlineError(error, "THROUGHLINE_LOCKED")) throw error;
    const routes = await served(settings, context);
    if (routes === undefined) throw error;
    return work(routes, settings, true);
  }
  const { throughline, turns, features } = opened;
  const { version } = context;
  const server = createServer({ throughline, turns, features, version, logger: silentLogger });
  try {
    return await work(routesOf(server), settings, false);
  } finally {
    try {
      await turns.close(graceMs);
      await server.close();
    } finally {
      await opened.close();
    }
  }
}

/** Makes routes of a server in this process. Errors are those that it got, with all that they say. */
export function routesOf(server: Pick<ReturnType<typeof createServer>, "fetch">): Routes {
  const url = "http://127.0.0.1:7423";
  return new Routes({
    url,
    headers: { host: new URL(url).host },
    fetch: (request) => server.fetch(request),
    errorOf: (request, { text, cause }) =>
      refusals.get(request) ?? cause ?? new TypeError(`not answered: ${text}`),
  });
}

/** @returns `undefined`: no server has the home. */
async function served({ home }: Settings, { env, io, version }: Context) {
  const target = serverTarget(home, env.token);
  if (target === undefined) return undefined;
  const found = await routesOfServer(target);
  if (found.version !== version) {
    const both = `is version ${found.version}, and this command ${version}`;
    await tell(io, `The server at ${target.url} ${both}. Restart it if it refuses something.`);
  }
  return found.routes;
}

/** Names the model that is asked for, for the body of a request. */
export function modelBody({ model, window }: Flags, isServed: boolean) {
  if (isServed && (window !== undefined || (model !== undefined && "baseUrl" in model))) {
    throw new Failed(
      "a server has this home, and only its own --model and --window name a URL or a window",
      {
        code: "THROUGHLINE_INVALID",
        wayOut: "Leave them out here, or stop the server and run this again.",
      },
    );
  }
  return model === undefined ? {} : { provider: model.provider, model: model.model };
}
