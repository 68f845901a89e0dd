// Writes api/openapi.json from the routes of every feature.
import { readFileSync, writeFileSync } from "node:fs";
import { everything } from "./everything.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
await using server = await everything({ version });
const document = await server.get("/api/openapi.json");
const file = new URL("../../api/openapi.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
