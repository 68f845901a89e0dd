import { readFile } from "node:fs/promises";

/**
 * Whose program listens at an address of this machine. `own`: this user's, or root's. `unknown`: this
 * system does not say. `elsewhere`: the address is not one of this machine's own.
 */
export type ListenerOwner = "own" | "other" | "none" | "unknown" | "elsewhere";

/** What the system knows of open sockets. A test brings its own. */
interface SocketTables {
  /** The text of `/proc/net/tcp` and of `/proc/net/tcp6`. Rejects where there is none. */
  read(name: "tcp" | "tcp6"): Promise<string>;
  /** The user that this process runs as. */
  readonly uid: number | undefined;
}

const systemTables: SocketTables = {
  read: (name) => readFile(`/proc/net/${name}`, "latin1"),
  uid: process.geteuid?.(),
};

/** Every program that listens on the port counts, whichever address it took: one stranger is enough. */
export async function listenerOwner(
  url: string,
  { read, uid }: SocketTables = systemTables,
): Promise<ListenerOwner> {
  const { hostname, port, protocol } = new URL(url);
  if (!/^(?:127(?:\.\d+){3}|localhost|\[::1\])$/.test(hostname)) return "elsewhere";
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  if (uid === undefined) return "unknown";
  try {
    // A system without IPv6 has no table of it.
    const tables = await Promise.all([read("tcp"), read("tcp6").catch(() => "")]);
    const owners = tables.flatMap((table) => listeners(table, number));
    if (owners.length === 0) return "none";
    return owners.every((owner) => owner === 0 || owner === uid) ? "own" : "other";
  } catch {
    return "unknown"; // not Linux, or hidden
  }
}

/** The state of a socket that listens. */
const listening = "0A";

/** Users whose sockets listen on a port. @see https://docs.kernel.org/networking/proc_net_tcp.html */
function listeners(table: string, port: number): readonly number[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return table.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , uid] = line.trim().split(/\s+/);
    return state === listening && local.endsWith(`:${hex}`) ? [Number(uid)] : [];
  });
}
