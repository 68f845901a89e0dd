// Writes api/openapi.json from the routes as they are, and the page's types from that.
import { readFileSync, writeFileSync } from "node:fs";
import { pageTypes, typesFile } from "../../scripts/page-types.ts";
import { companion } from "./server-fixture.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
const { get } = await companion([], { version });
const document = await get("/api/openapi.json");
const file = new URL("../../api/openapi.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
writeFileSync(typesFile, pageTypes());
