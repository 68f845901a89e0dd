import { testWithout } from "../support/without-feature.ts";

testWithout("adapters", { commands: ["mcp"], isApart: true });
