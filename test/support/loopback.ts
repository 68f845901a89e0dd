// A server of a test at a port of this machine.
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

/** A port of this machine that nobody has now. */
export async function freePort(): Promise<number> {
  const { url, close } = await loopback(() => undefined);
  await close();
  return Number(new URL(url).port);
}
