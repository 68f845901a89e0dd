// A connection to PostgreSQL that fails on purpose: RELIABILITY.md, test technique 13.
import { connect, createServer, type Socket } from "node:net";

/** From the client to the server, or the other way. */
export type Direction = "request" | "reply";

/**
 * What happens at a message. A cut ends the connection before the message passed, or after it did: then
 * the other side has all of it. `"freeze"` lets nothing pass any more, and nobody is told. `"delay"`
 * holds it back for longer than anybody waits, and lets it pass even if its sender is gone.
 * `"blackout"` freezes every connection, also new ones, until `heal()`.
 */
export type Fault = "cut before" | "cut after" | "freeze" | "delay" | "blackout";

export interface FaultPlan {
  readonly direction: Direction;
  /** Counts the messages of this direction, over all connections, from 1. */
  readonly at: number;
  readonly fault: Fault;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  isFrozen: boolean;
  /** Messages that are held back. */
  held: number;
}

/** Stands between a client and a server, and knows where each message of the protocol ends. */
export class PostgresProxy {
  /** Where new connections go; may change at any time. */
  serverPort: number;
  /** The message that the fault hit: its type, as the protocol names it. */
  hit: string | undefined;
  readonly #delayMs: number;
  readonly #links = new Set<Link>();
  readonly #listener = createServer((client) => this.#link(client));
  #plan: FaultPlan | undefined;
  #count = 0;
  #isBlackedOut = false;
  #delayed: Promise<void> = Promise.resolve();

  constructor(serverPort: number, delayMs: number) {
    this.serverPort = serverPort;
    this.#delayMs = delayMs;
    this.#listener.unref();
  }

  /** @returns the port that clients use. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#listener.listen(0, "127.0.0.1", resolve));
    const address = this.#listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    return address.port;
  }

  /** From now on messages count; the plan's fault happens once. */
  arm(plan: FaultPlan): void {
    this.hit = undefined;
    this.#count = 0;
    this.#plan = plan;
  }

  /** Resolves when everything that was held back has passed. Frozen connections end. */
  async heal(): Promise<void> {
    this.#plan = undefined;
    this.#isBlackedOut = false;
    for (const link of this.#links) if (link.isFrozen) this.#end(link);
    await this.#delayed;
  }

  /** Ends every connection, as the loss of the server does. */
  cutAll(): void {
    for (const link of this.#links) this.#end(link);
  }

  close(): void {
    this.#listener.close();
    this.cutAll();
  }

  #link(client: Socket): void {
    const server = connect({ port: this.serverPort, host: "127.0.0.1", noDelay: true });
    const link: Link = { client, server, isFrozen: this.#isBlackedOut, held: 0 };
    this.#links.add(link);
    client.setNoDelay(true);
    for (const [from, direction] of [
      [client, "request"],
      [server, "reply"],
    ] as const) {
      const messages = new Messages(direction === "request");
      from.unref();
      from.on("data", (chunk: Buffer) => {
        for (const message of messages.push(chunk)) this.#pass(link, direction, message);
      });
      from.on("error", () => undefined); // "close" follows
      from.on("close", () => {
        if (link.isFrozen || link.held > 0) return;
        this.#end(link);
      });
    }
  }

  #pass(link: Link, direction: Direction, message: Buffer): void {
    const plan = this.#plan;
    const isHit = plan?.direction === direction && ++this.#count === plan.at && !link.isFrozen;
    if (!isHit) {
      this.#forward(link, direction, message);
      return;
    }
    this.#plan = undefined;
    this.hit = typeOf(message);
    if (plan.fault === "delay") this.#holdBack(link, direction, message);
    else if (plan.fault !== "cut before") this.#forward(link, direction, message);
    if (plan.fault.startsWith("cut")) this.#end(link);
    if (plan.fault === "freeze") link.isFrozen = true;
    if (plan.fault === "blackout") this.#blackOut();
  }

  #blackOut(): void {
    this.#isBlackedOut = true;
    for (const link of this.#links) link.isFrozen = true;
  }

  #forward(link: Link, direction: Direction, message: Buffer): void {
    if (link.isFrozen) return;
    if (link.held > 0) this.#holdBack(link, direction, message);
    else (direction === "request" ? link.server : link.client).write(message);
  }

  #holdBack(link: Link, direction: Direction, message: Buffer): void {
    link.held++;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#delayed = Promise.all([this.#delayed, promise]).then(() => undefined);
    setTimeout(() => {
      link.held--;
      (direction === "request" ? link.server : link.client).write(message);
      if (link.held === 0 && (link.client.destroyed || link.server.destroyed)) this.#end(link);
      resolve();
    }, this.#delayMs);
  }

  /** The server still reads what was sent to it; the client hears at once. */
  #end(link: Link): void {
    this.#links.delete(link);
    link.client.destroySoon();
    link.server.destroySoon();
  }
}

/** Cuts a stream into messages: a byte for the type, four for the length that follows it. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  /** What a client says first has no type. */
  #begins: boolean;

  constructor(begins: boolean) {
    this.#begins = begins;
  }

  push(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const messages: Buffer[] = [];
    for (;;) {
      const before = this.#begins ? 0 : 1;
      if (this.#rest.length < before + 4) return messages;
      const end = before + this.#rest.readUInt32BE(before);
      if (this.#rest.length < end) return messages;
      messages.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
      this.#begins = false;
    }
  }
}

function typeOf(message: Buffer): string {
  const type = message.toString("latin1", 0, 1);
  return type === "\0" ? "startup" : type;
}
