import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { error, ok, portalPage, refused, type S3Answer } from "./s3-answers.ts";
import { type S3Fault, type S3FaultKind, S3FaultPlan } from "./s3-fault.ts";
import { S3Journal, type StoredObject } from "./s3-journal.ts";
import { type Asked, askedOf, type S3ServerRules, S3Service } from "./s3-service.ts";
import type { ReceivedRequest } from "./sigv4.ts";

export interface S3ServerOptions extends Partial<S3ServerRules> {
  /** Buckets that are there. @default ["moments"] */
  readonly buckets?: readonly string[];
  /** What slow answers wait on. Default: they wait for `S3Server.release`. */
  readonly timers?: {
    after(delayMs: number, call: () => void): () => void;
    /** Told when an answer begins to wait. */
    look?(): void;
  };
  /**
   * What signatures are judged by: the clock that the client signs with.
   *
   * @default systemClock
   */
  readonly clock?: Clock;
}

const defaults = {
  ...{ accessKeyId: "test", secretAccessKey: "testsecret", sessionToken: undefined },
  ...{ region: "us-east-1", foreignBuckets: [] },
  ...{ conditionalPut: "kept", checksum: "kept", accessBlock: "kept" },
  list: "allowed",
  ...{ versions: false, pageSize: 1_000, skewMs: 0 },
} as const satisfies S3ServerRules;

/**
 * An S3 server on a port of this machine, for tests: strict about who asks and about digests, with
 * faults where they are asked for and a journal of everything. Objects are in memory.
 */
export class S3Server {
  readonly journal = new S3Journal();
  readonly faults = new S3FaultPlan();
  readonly #service: S3Service;
  readonly #options: S3ServerOptions;
  readonly #server: Server;
  readonly #held = new Set<ServerResponse>();
  #busy = 0;

  private constructor(options: S3ServerOptions) {
    this.#options = options;
    this.#service = new S3Service({ ...defaults, ...options });
    for (const name of options.buckets ?? ["moments"]) {
      this.#service.buckets.set(name, { objects: new Map(), accessBlock: undefined });
    }
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Listens on a free port of the loopback interface. */
  static async start(options: S3ServerOptions = {}): Promise<S3Server> {
    const server = new S3Server(options);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get credentials() {
    const { accessKeyId, secretAccessKey, sessionToken } = this.#service.rules;
    return {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    };
  }

  /** Requests whose answer waits for time to pass, or for ever. */
  get held(): number {
    return this.#held.size;
  }
  /** Requests that came and were not answered, the held ones among them. */
  get busy(): number {
    return this.#busy;
  }

  /** On its wall clock. */
  #now(): number {
    return (this.#options.clock ?? systemClock).now() + this.#service.rules.skewMs;
  }

  /** From now on these rules hold. */
  change(rules: Partial<S3ServerRules>): void {
    this.#service.rules = { ...this.#service.rules, ...rules };
  }

  fail(...faults: readonly S3Fault[]): void {
    this.faults.add(...faults);
  }

  /** The objects of a bucket by key. */
  objects(bucket = "moments"): ReadonlyMap<string, StoredObject> {
    return this.#service.buckets.get(bucket)?.objects ?? new Map();
  }

  /** The public access block that a bucket was given, as XML. */
  accessBlock(bucket = "moments"): string | undefined {
    return this.#service.buckets.get(bucket)?.accessBlock;
  }

  hasBucket(name: string): boolean {
    return this.#service.buckets.has(name);
  }

  /** Stores an object as somebody else would. */
  place(key: string, body: Buffer, bucket = "moments", modifiedMs = this.#now()): void {
    const etag = '"00000000000000000000000000000000-1"';
    const about = { contentType: "text/plain", metadata: {}, modifiedMs };
    const object = { body, etag, ...about };
    this.#service.buckets.get(bucket)?.objects.set(key, object);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#busy++;
    response.once("close", () => {
      this.#busy--;
      this.#held.delete(response);
    });
    const url = new URL(message.url ?? "/", "http://server");
    const path = (message.url ?? "/").split("?", 1)[0] ?? "/";
    const asked = askedOf(message.method ?? "", path, url.searchParams);
    const fault = this.faults.judge(asked.operation, asked.key);
    if (fault?.kind === "reset") return reset(message.socket);
    const body = await bodyOf(message, fault?.kind === "reset_in_body");
    if (body === undefined) return; // the connection is gone
    const headers = headersOf(message);
    const request = { method: message.method ?? "", path, query: url.searchParams, headers, body };
    this.#act(asked, request, fault, response);
  }

  #act(asked: Asked, request: ReceivedRequest, fault: S3FaultKind | undefined, to: ServerResponse) {
    const instead = fault === undefined ? undefined : insteadOf(fault);
    const now = this.#now();
    const isUndone = instead !== undefined || fault?.kind === "hang";
    const answer = isUndone ? (instead ?? ok()) : this.#service.answer(asked, request, now);
    const { status, changed = false } = answer;
    const { operation, key } = asked;
    const entry = { operation, key, status, changed, headers: request.headers };
    this.journal.note(entry, this.objects(asked.bucket));
    const headers = { ...answer.headers, date: new Date(now).toUTCString() };
    const send = () => write(to, { ...answer, headers });
    switch (fault?.kind) {
      case "lose_reply":
        return reset(to.socket);
      case "cut_reply":
        return cut(to, { ...answer, headers });
      case "hang":
        return this.#hold(to, Number.POSITIVE_INFINITY, send);
      case "slow":
        return this.#hold(
          to,
          Math.max(fault.atLeastMs ?? 0, request.body.length * fault.msPerByte),
          send,
        );
      case "drip":
        return this.#drip(to, raw({ ...answer, headers }));
      default:
        return send();
    }
  }

  #wait(response: ServerResponse): void {
    this.#held.add(response);
    this.#options.timers?.look?.();
  }

  #hold(response: ServerResponse, delayMs: number, send: () => void): void {
    this.#wait(response);
    if (!Number.isFinite(delayMs)) return;
    const release = () => {
      if (this.#held.delete(response)) send();
    };
    this.#options.timers?.after(delayMs, release);
  }

  #drip(response: ServerResponse, bytes: Buffer): void {
    this.#wait(response);
    const next = (at: number) => {
      if (!this.#held.has(response)) return;
      response.socket?.write(bytes.subarray(at, at + 1));
      if (at + 1 < bytes.length) this.#options.timers?.after(1_000, () => next(at + 1));
    };
    next(0);
  }
}

/** What a fault answers in place of the service. */
function insteadOf(fault: S3FaultKind): S3Answer | undefined {
  if (fault.kind === "portal") return portalPage;
  if (fault.kind === "error_in_200") return { ...error(500, "InternalError"), status: 200 };
  if (fault.kind !== "error") return undefined;
  const { status, code, message = code } = fault;
  return refused({ status, code, message }, fault.headers ?? {});
}

function write(response: ServerResponse, answer: S3Answer): void {
  const length = { "content-length": String(answer.body.length) };
  response.writeHead(answer.status, {
    ...answer.headers,
    ...(answer.status === 204 ? {} : length),
  });
  response.end(answer.status === 204 ? undefined : answer.body);
}

function raw({ status, headers, body }: S3Answer): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} Slow\r\ncontent-length: ${body.length}\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** The first half of an answer, then the end of the connection. */
function cut(response: ServerResponse, answer: S3Answer): void {
  const bytes = raw(answer);
  response.socket?.end(bytes.subarray(0, bytes.length >> 1));
}

function reset(socket: Socket | null): void {
  socket?.resetAndDestroy();
}

/** The whole body; `undefined` when the connection ended before it, or was reset on purpose. */
function bodyOf(message: IncomingMessage, isCut: boolean): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const half = Number(message.headers["content-length"] ?? 0) / 2;
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (isCut && bytes >= half) reset(message.socket);
    };
    message.on("data", onData);
    message.once("end", () => {
      if (isCut) reset(message.socket);
      resolve(isCut ? undefined : Buffer.concat(chunks));
    });
    message.once("close", () => resolve(undefined));
    message.once("error", () => resolve(undefined));
  });
}

function headersOf(message: IncomingMessage): Readonly<Record<string, string>> {
  const entries = Object.entries(message.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(",") : (value ?? ""),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}
