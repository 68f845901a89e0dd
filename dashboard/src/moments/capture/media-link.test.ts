import assert from "node:assert/strict";
import { test } from "node:test";
import { MediaLink, mediaMessage, pictureKind, soundKind } from "./media-link.ts";

/** A browser's sockets and timers, moved by hand. */
function browser() {
  const states: string[] = [];
  const sockets: FakeSocket[] = [];
  const waits: { ms: number; run: () => void }[] = [];
  let breaks = 0;
  const link = new MediaLink({
    open: () => {
      const socket = socketOf();
      sockets.push(socket);
      return socket as never;
    },
    after: (ms, run) => {
      const wait = { ms, run };
      waits.push(wait);
      return () => waits.splice(waits.indexOf(wait), 1);
    },
    onState: (state) => states.push(state.is === "ended" ? `ended: ${state.why}` : state.is),
    onBreak: () => breaks++,
  });
  return { link, states, sockets, waits, breaks: () => breaks };
}

type FakeSocket = ReturnType<typeof socketOf>;

function socketOf() {
  const target = new EventTarget();
  const sent: Uint8Array[] = [];
  return {
    readyState: 0,
    bufferedAmount: 0,
    sent,
    addEventListener: target.addEventListener.bind(target),
    send: (bytes: Uint8Array) => sent.push(bytes),
    close() {
      this.end(1005);
    },
    begin() {
      this.readyState = 1;
      target.dispatchEvent(new Event("open"));
    },
    end(code: number) {
      this.readyState = 3;
      target.dispatchEvent(Object.defineProperty(new Event("close"), "code", { value: code }));
    },
  };
}

const sound = { kind: soundKind, capturedMs: 1, bytes: new Uint8Array(3_200) } as const;
const picture = { kind: pictureKind, capturedMs: 1, bytes: new Uint8Array(50_000) } as const;

test("before it is open nothing is sent, and nothing waits", () => {
  const { link, sockets } = browser();
  assert.equal(link.send(sound), false);
  sockets[0]?.begin();
  assert.equal(sockets[0]?.sent.length, 0);
  assert.equal(link.send(sound), true);
  assert.equal(sockets[0]?.sent[0]?.length, 3_209);
});

for (const [waiting, takesSound, takesPicture] of [
  [0, true, true],
  [262_144, true, true],
  [262_145, true, false],
  [1_048_576, true, false],
  [1_048_577, false, false],
] as const) {
  test(`with ${waiting} bytes waiting sound is ${takesSound ? "" : "not "}sent, a picture is ${takesPicture ? "" : "not "}`, () => {
    const { link, sockets } = browser();
    sockets[0]!.begin();
    sockets[0]!.bufferedAmount = waiting;
    assert.deepEqual([link.send(sound), link.send(picture)], [takesSound, takesPicture]);
  });
}

test("a link that breaks comes back, each time after twice as long, up to 15 s", () => {
  const { states, sockets, waits, breaks } = browser();
  const waited: number[] = [];
  for (let round = 0; round < 7; round++) {
    sockets.at(-1)!.end(1006);
    const wait = waits.pop()!;
    waited.push(wait.ms);
    wait.run();
  }
  assert.deepEqual(waited, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  assert.equal(breaks(), 7);
  sockets.at(-1)!.begin();
  sockets.at(-1)!.end(1001);
  assert.equal(waits[0]?.ms, 500);
  assert.deepEqual(states.slice(0, 3), ["connecting", "waiting", "connecting"]);
});

for (const [code, why] of [
  [4403, "consent"],
  [1003, "refused"],
  [1009, "refused"],
] as const) {
  test(`after ${code} it does not come back: ${why}`, () => {
    const { link, states, sockets, waits } = browser();
    sockets[0]!.begin();
    sockets[0]!.end(code);
    assert.deepEqual([states.at(-1), waits.length], [`ended: ${why}`, 0]);
    assert.equal(link.send(sound), false);
  });
}

test("a link that was closed here says nothing more and does not come back", () => {
  const { link, states, sockets, waits } = browser();
  sockets[0]!.begin();
  sockets[0]!.end(1006);
  link.close();
  assert.deepEqual([waits.length, sockets.length], [0, 1]);
  assert.equal(states.at(-1), "waiting");
});

for (const [kind, first] of [
  [soundKind, 1],
  [pictureKind, 2],
] as const) {
  test(`a message begins with ${first}, then the time as a float64, then the bytes`, () => {
    const message = mediaMessage({ kind, capturedMs: 1_234.5, bytes: Uint8Array.of(7, 8) });
    const view = new DataView(message.buffer);
    assert.deepEqual([view.getUint8(0), view.getFloat64(1, true)], [first, 1_234.5]);
    assert.deepEqual([...message.subarray(9)], [7, 8]);
  });
}
