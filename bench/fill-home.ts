// node bench/fill-home.ts PRODUCT HOME messages CHAT COUNT | PRODUCT HOME chats FROM TO: writes what a figure needs to find,
// through the public API, without syncs.
import { load, turn } from "./product.ts";

const [, , product = "", home = "", what, ...rest] = process.argv;
const { openThroughline } = await load(product);
const throughline = await openThroughline({ home, durability: "process" });
const { chats } = throughline;
if (what === "messages") {
  const [chat = "", count = 0] = [rest[0], Number(rest[1])];
  for (let done = 0; done < count; done += 500) {
    await chats.append(chat, Array.from({ length: 250 }, () => turn()).flat());
  }
} else {
  const [from, to] = [Number(rest[0]), Number(rest[1])];
  const atOnce = 200;
  for (let first = from; first < to; first += atOnce) {
    const each = Array.from({ length: atOnce }, (_, i) => first + i);
    await Promise.all(
      each.map((i) => chats.append(`telegram:${i}`, turn(`month${i % 10_000}`).slice(0, 1))),
    );
  }
}
await throughline.close();
process.send?.("filled");
process.disconnect?.();
