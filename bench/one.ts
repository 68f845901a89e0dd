// node bench/one.ts NAME DIR [full]: measures one thing of the catalogue, in a process of its own, so that
// nothing that was measured before has warmed its code or filled its memory.
import { catalogue } from "./catalogue.ts";

process.once("SIGTERM", () => process.exit(1)); // and ends its own children on the way
const [, , name = "", dir = "", size] = process.argv;
const measure = Object.values(catalogue).find((group) => Object.hasOwn(group, name))?.[name];
if (measure === undefined) throw new Error(`there is nothing called ${name}`);
const figures = await measure({ dir, isFull: size === "full" });
process.send?.(figures, undefined, undefined, () => process.exit(0));
