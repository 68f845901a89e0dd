// What npm start runs: the page and the code, each built unless it is up to date.
import { buildCode } from "./build-code.ts";
import { buildPage } from "./build-page.ts";

await buildPage();
await buildCode();
