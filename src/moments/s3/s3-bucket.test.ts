// The client of AWS against the server of these tests: what it sends, and what it makes of answers
// that are none.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { test } from "node:test";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { S3Server, type S3ServerOptions } from "../../../test/support/s3/s3-server.ts";
import { VirtualTime } from "../../../test/support/s3/virtual-time.ts";
import { silentLogger } from "../../core/logger.ts";
import { systemTimers } from "../../core/timers.ts";
import { keyPrefix } from "../package/package-name.ts";
import { resolveTarget, type S3TargetOptions } from "./options.ts";
import { type ObjectToPut, requestDeadlines, S3Bucket } from "./s3-bucket.ts";
import { type FailureClass, failureOf, failureOfClient, UploadFailure } from "./upload-failure.ts";

const signal = new AbortController().signal;

function object(key: string, text = "hello"): ObjectToPut {
  const body = Buffer.from(text);
  const sha256 = createHash("sha256").update(body).digest("hex");
  return { key, body, contentType: "image/jpeg", sha256 };
}

function firstHeaders(server: S3Server): Readonly<Record<string, string>> {
  return server.journal.entries[0]?.headers ?? {};
}

async function open(options: S3ServerOptions = {}, target: Partial<S3TargetOptions> = {}) {
  let held = () => 0;
  let busy = 0;
  const time = new VirtualTime(new HeldClock(), () => busy > held());
  const server = await S3Server.start({ timers: time, ...options });
  held = () => server.held;
  const { endpoint, credentials } = server;
  const resolved = resolveTarget({ bucket: "moments", endpoint, credentials, ...target });
  const port = new S3Bucket(resolved, { timers: time, logger: silentLogger });
  return {
    server,
    port,
    time,
    /** Lets time pass while the call waits. */
    async passing<T>(call: Promise<T>): Promise<T> {
      busy++;
      let isDone = false;
      const settled = () => {
        isDone = true;
        busy--;
        time.look();
      };
      call.then(settled, settled);
      await time.until(() => isDone);
      return await call;
    },
    async [Symbol.asyncDispose]() {
      port.close();
      await server.close();
    },
  };
}

test("an object goes up whole, with its type, its SHA-256 in header and metadata, and no framing", async () => {
  await using world = await open();
  const etag = await world.port.put(object("k"), signal);
  const sha256 = createHash("sha256").update("hello").digest();
  const headers = firstHeaders(world.server);
  assert.equal(etag, `"${createHash("md5").update("hello").digest("hex")}"`);
  assert.equal(headers["content-type"], "image/jpeg");
  assert.equal(headers["content-length"], "5");
  assert.equal(headers["x-amz-checksum-sha256"], sha256.toString("base64"));
  assert.equal(headers["x-amz-meta-sha256"], sha256.toString("hex"));
  assert.equal(headers["transfer-encoding"], undefined);
  assert.equal(headers["content-encoding"], undefined);
  assert.equal(headers["if-none-match"], undefined);
  assert.equal(headers["x-amz-server-side-encryption"], undefined);
});

test("the condition travels; with checksums off no checksum", async () => {
  await using world = await open({}, { checksums: "off" });
  await world.port.putIfAbsent(object("k"), signal);
  const headers = firstHeaders(world.server);
  assert.equal(headers["if-none-match"], "*");
  assert.equal(headers["x-amz-checksum-sha256"], undefined);
  assert.equal(headers["content-md5"], undefined);
});

// Method: every call of the port meets the same answer that is none; not one of them resolves.
const calls: readonly (readonly [string, (port: S3Bucket) => Promise<unknown>])[] = [
  ["put", (port) => port.put(object("k"), signal)],
  ["get", (port) => port.get("k", signal)],
  ["list", (port) => Array.fromAsync(port.list("", signal))],
  ["remove", (port) => port.remove("k", signal)],
];
const nothings = ["portal", "error_in_200", "reset", "lose_reply", "hang", "drip"] as const;
for (const kind of nothings) {
  test(`no call resolves on ${kind}`, async () => {
    await using world = await open();
    await world.port.put(object("k"), signal);
    for (const [name, call] of calls) {
      world.server.fail({ does: { kind } });
      const error = await world.passing(call(world.port)).then(
        () => assert.fail(`${name} resolved`),
        (thrown: UploadFailure) => thrown,
      );
      assert.equal(error.name, "UploadFailure", name);
      while (world.server.held > 0) await new Promise((done) => setImmediate(done));
    }
  });
}

for (const bytes of [0, 60_000]) {
  const ms = requestDeadlines.requestMs + bytes;
  test(`a request of ${bytes} bytes that is never answered ends after ${ms} ms`, async () => {
    await using world = await open();
    world.server.fail({ does: { kind: "hang" } });
    const call = world.port.put(object("k", "x".repeat(bytes)), signal);
    await assert.rejects(world.passing(call), { class: "retry", code: "DeadlinePassed" });
    assert.equal(world.time.clock.monotonic(), ms);
  });
}

test("a call ends with the reason of its signal, at once, and the answer that comes later is nobody's", async () => {
  await using world = await open();
  world.server.fail({ does: { kind: "hang" } });
  const controller = new AbortController();
  const call = world.port.put(object("k"), controller.signal);
  const reason = new Error("enough");
  setImmediate(() => controller.abort(reason));
  await assert.rejects(call, reason);
});

test("a look-up of credentials that fails or hangs is no_credentials, and is made again by the next call", async () => {
  let lookups = 0;
  const credentials = async () => {
    lookups++;
    if (lookups === 1) throw Object.assign(new Error("none"), { name: "CredentialsProviderError" });
    if (lookups === 2) await new Promise(() => undefined);
    return { accessKeyId: "test", secretAccessKey: "testsecret" };
  };
  await using world = await open({}, { credentials });
  await assert.rejects(world.port.put(object("k"), signal), { class: "no_credentials" });
  // Nobody answers: only time ends it.
  const hanging = world.port.put(object("k"), signal);
  hanging.catch(() => undefined);
  await world.time.until(() => lookups === 2 && world.time.count > 0);
  await world.time.pass(requestDeadlines.credentialsMs);
  await assert.rejects(hanging, { class: "no_credentials" });
  await world.port.put(object("k"), signal);
  assert.equal(world.server.objects().size, 1);
});

test("without the client library a call says no_client, and looks again the next time", async () => {
  const options = resolveTarget({ bucket: "moments" });
  let loads = 0;
  const load = () => {
    loads++;
    return Promise.reject(Object.assign(new Error("no"), { code: "ERR_MODULE_NOT_FOUND" }));
  };
  const timers = new VirtualTime(new HeldClock(), () => false);
  const port = new S3Bucket(options, { timers, logger: silentLogger, load });
  assert.equal(loads, 0, "it is loaded at the first use");
  for (let call = 1; call <= 2; call++) {
    await assert.rejects(port.get("k", signal), { class: "no_client" });
    assert.equal(loads, call);
  }
});

for (const region of ["us-east-1", "eu-west-1"]) {
  test(`on an endpoint of one's own a bucket in ${region} is made without LocationConstraint`, async () => {
    await using world = await open({ region, buckets: [] }, { region, createBucket: true });
    assert.deepEqual(await Array.fromAsync(world.port.list("", signal)), []);
    assert.equal(world.server.hasBucket("moments"), true);
  });
}

for (const [region, location] of [
  ["us-east-1", undefined],
  ["eu-west-1", "eu-west-1"],
] as const) {
  test(`on AWS a bucket in ${region} is made with the LocationConstraint ${location}`, async () => {
    const sdk = await import("@aws-sdk/client-s3");
    const made: unknown[] = [];
    const answers = ["<Error><Code>NoSuchBucket</Code></Error>", "<ListBucketResult/>"];
    const requestHandler = {
      async handle({ method, body }: { readonly method: string; readonly body?: unknown }) {
        if (method === "PUT") made.push(body);
        const xml = method === "PUT" ? "" : (answers.shift() ?? "");
        const statusCode = xml.startsWith("<Error>") ? 404 : 200;
        return { response: { statusCode, headers: {}, body: Readable.from([Buffer.from(xml)]) } };
      },
    };
    class Client extends sdk.S3Client {
      constructor(options: object) {
        super({ ...options, requestHandler });
      }
    }
    const credentials = { accessKeyId: "a", secretAccessKey: "b" };
    const target = resolveTarget({ bucket: "moments", region, credentials, createBucket: true });
    const load = async () => ({ ...sdk, S3Client: Client });
    const port = new S3Bucket(target, { timers: systemTimers, logger: silentLogger, load });
    assert.deepEqual(await Array.fromAsync(port.list("", signal)), []);
    const named = /<LocationConstraint>(.*)<\/LocationConstraint>/.exec(String(made[0] ?? ""));
    assert.equal(named?.[1], location);
  });
}

test("an error names codes, and neither keys nor what the service said", async () => {
  const secret = { accessKeyId: "AKIASECRET", secretAccessKey: "verysecret" };
  await using world = await open({}, { credentials: secret });
  const error = await world.port.put(object("k"), signal).catch((thrown: UploadFailure) => thrown);
  assert.equal((error as UploadFailure).message, "not sent: refused InvalidAccessKeyId 403");
  const { cause: _, ...said } = error as UploadFailure;
  assert.doesNotMatch(JSON.stringify(said), /SECRET|secret/);
});

test("the region that a service names is passed on, and nothing else that it writes there", async () => {
  await using world = await open();
  const code = "AuthorizationHeaderMalformed";
  for (const [named, region] of [
    ["eu-west-1", "eu-west-1"],
    ["<b>x</b>", undefined],
  ] as const) {
    const message = `wrong; expecting '${named}'`;
    world.server.fail({ does: { kind: "error", status: 400, code, message } });
    await assert.rejects(world.port.put(object("k"), signal), { code, region });
  }
});

const bucket = "moments";

// S-29: TLS unless loopback, and the endpoint holds no secret.
const endpoints: readonly (readonly [endpoint: string, isFine: boolean])[] = [
  ["https://objects.example.org", true],
  ["http://127.0.0.1:9000", true],
  ["http://localhost:9000", true],
  ["http://[::1]:9000", true],
  ["http://objects.example.org", false],
  ["http://127.0.0.1.example.org", false],
  ["https://name:secret@objects.example.org", false],
  ["ftp://127.0.0.1", false],
  ["objects.example.org", false],
];
test("an endpoint is taken over https, or on this machine, and without a name and password", () => {
  for (const [endpoint, isFine] of endpoints) {
    const resolve = () => resolveTarget({ bucket, endpoint });
    if (isFine) assert.equal(resolve().endpoint, endpoint);
    else assert.throws(resolve, { code: "THROUGHLINE_CONFIGURATION" }, endpoint);
  }
});

const wrong: readonly (readonly [says: string, options: object])[] = [
  ["no bucket", {}],
  ["an empty bucket", { bucket: "" }],
  ["a bucket with a slash", { bucket: "a/b" }],
  ["a region with a line break", { bucket, region: "eu\nwest" }],
  ["unknown checksums", { bucket, checksums: "md5" }],
  ["a name that there is not", { bucket, owner: "123456789012" }],
];
for (const [says, options] of wrong) {
  test(`${says} is a configuration error`, () => {
    assert.throws(() => resolveTarget(options as { bucket: string }), {
      code: "THROUGHLINE_CONFIGURATION",
    });
  });
}

const name = "2026-02-19T15-30-00_positive_fb_a1b2c3d4e5f6";
const sessions: readonly (readonly [sessionId: string, folder: string])[] = [
  ["a1b2c3d4", "a1b2c3d4"],
  ["", "unknown"],
  ["..", "unknown"],
  ["../../etc", ".._.._etc"],
  ["a/b\\c", "a_b_c"],
  ["Ünï\u0000\n", "_n___"],
  ["x".repeat(300), "x".repeat(100)],
];
for (const [sessionId, folder] of sessions) {
  test(`a session ${JSON.stringify(sessionId.slice(0, 20))} has its keys in feedback/${folder.slice(0, 20)}/`, () => {
    assert.equal(keyPrefix(sessionId, name), `feedback/${folder}/${name}/`);
  });
}

type Waits = UploadFailure["waits"];

const answers: readonly (readonly [number, string, FailureClass, Waits])[] = [
  [429, "TooManyRequests", "retry", "target"],
  [500, "InternalError", "retry", "target"],
  [503, "SlowDown", "retry", "target"],
  [408, "Unknown", "retry", "package"],
  [400, "RequestTimeout", "retry", "package"],
  [409, "ConditionalRequestConflict", "retry", "package"],
  [403, "RequestTimeTooSkewed", "clock", "target"],
  [403, "ExpiredToken", "expired", "target"],
  [400, "ExpiredToken", "expired", "target"],
  [400, "TokenRefreshRequired", "expired", "target"],
  [401, "Unknown", "refused", "target"],
  [403, "Unknown", "refused", "target"],
  [403, "InvalidAccessKeyId", "refused", "target"],
  [403, "SignatureDoesNotMatch", "refused", "target"],
  [400, "InvalidToken", "refused", "target"],
  [403, "BucketAlreadyExists", "refused", "target"],
  [404, "NoSuchBucket", "bucket", "target"],
  [301, "PermanentRedirect", "bucket", "target"],
  [307, "TemporaryRedirect", "bucket", "target"],
  [400, "AuthorizationHeaderMalformed", "bucket", "target"],
  [400, "IllegalLocationConstraintException", "bucket", "target"],
  [400, "BadDigest", "retry", "package"],
  [400, "XAmzContentSHA256Mismatch", "retry", "package"],
  [400, "IncompleteBody", "retry", "package"],
  [412, "PreconditionFailed", "conflict", "dead"],
  [501, "NotImplemented", "rejected", "dead"],
  [400, "Unknown", "rejected", "dead"],
  [404, "NoSuchKey", "rejected", "dead"],
  [418, "Unknown", "rejected", "dead"],
  [400, "ThrottlingException", "retry", "target"],
];

const thrown = (fields: object) => Object.assign(new Error("private"), fields);

test("every answer that a service was seen to give has its class, and what is unknown is rejected", () => {
  for (const [status, name, kind, waits] of answers) {
    const failure = failureOfClient(thrown({ name, $metadata: { httpStatusCode: status } }));
    const { waits: who, status: told, code } = failure;
    assert.deepEqual([failure.class, who, told, code], [kind, waits, status, name]);
  }
});

const others: readonly (readonly [error: unknown, code: string, FailureClass, Waits?])[] = [
  [thrown({ code: "ECONNREFUSED" }), "ECONNREFUSED", "retry"],
  [thrown({ code: "ENOTFOUND" }), "ENOTFOUND", "retry"],
  [thrown({ name: "TimeoutError", code: "ECONNRESET" }), "ECONNRESET", "retry"],
  [thrown({ name: "TimeoutError" }), "TimeoutError", "retry"],
  [thrown({ code: "CERT_HAS_EXPIRED" }), "CERT_HAS_EXPIRED", "refused"],
  [thrown({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }), "DEPTH_ZERO_SELF_SIGNED_CERT", "refused"],
  [
    thrown({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }),
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "refused",
  ],
  [thrown({ code: "ERR_TLS_CERT_ALTNAME_INVALID" }), "ERR_TLS_CERT_ALTNAME_INVALID", "refused"],
  [thrown({ name: "CredentialsProviderError" }), "CredentialsProviderError", "no_credentials"],
  // A captive portal, or an error in the body of a 200.
  [thrown({ name: "InternalError", $metadata: { httpStatusCode: 200 } }), "InternalError", "retry"],
  [thrown({ name: "SyntaxError", $response: { statusCode: 200 } }), "SyntaxError", "retry"],
  ["oh no", "Error", "retry"],
  [undefined, "Error", "retry"],
  [new UploadFailure("incomplete", { code: "x" }), "x", "incomplete", "package"],
];

test("a failure without an answer stops the target, and its message holds nothing but codes", () => {
  for (const [error, code, kind, waits = "target"] of others) {
    const failure = failureOfClient(error);
    assert.deepEqual([failure.class, failure.code, failure.waits], [kind, code, waits]);
    assert.doesNotMatch(failure.message, /private/);
  }
});

test("what no bucket rejected with is a failure of this machine, and harms one package alone", () => {
  const { note, waits, message } = failureOf(thrown({ code: "EIO" }));
  assert.deepEqual([note, waits], [{ class: "local_io", code: "EIO", status: null }, "package"]);
  assert.doesNotMatch(message, /private/);
});
