import { testWithout } from "../support/without-feature.ts";

testWithout("interchange", { commands: ["import", "export"], isApart: true });
