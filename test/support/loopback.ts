// A server of a test at a port of this machine.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** Listens; an answer that fails ends its connection. `close` ends every connection. */
export async function loopback(
  serve: (request: IncomingMessage, response: ServerResponse) => unknown,
) {
  const answer = async (request: IncomingMessage, response: ServerResponse) =>
    serve(request, response);
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close, [Symbol.asyncDispose]: close };
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(request));
}

/** Notes a server as the one that has the home, in the place of a holder that serves nothing. */
export async function noteOther(home: string, serve: Parameters<typeof loopback>[0]) {
  const other = await loopback(serve);
  const note = join(home, "lock.json");
  const { url } = other;
  fs.writeFileSync(note, JSON.stringify({ ...JSON.parse(fs.readFileSync(note, "utf8")), url }));
  return other;
}

/** Below the ports that a system gives to those who ask for any: no other program gets one by chance while its server is down. */
const [firstPort, endPort] = [20_000, 32_000];

/** The first of so many ports of this machine, one after the other, that are free now, and were not given in this run. */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const first = randomInt(firstPort, endPort - count);
    const ports = Array.from({ length: count }, (_, n) => first + n);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean) && ports.every(isOurs)) return first;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((done) => server.close(done));
  }
}

/** Notes a port for the processes of this run. @returns whether it was none of theirs. */
function isOurs(port: number): boolean {
  const shared = process.env["THROUGHLINE_SCRATCH"];
  if (shared === undefined) return true;
  try {
    fs.writeFileSync(join(shared, `.port-${port}`), "", { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}
