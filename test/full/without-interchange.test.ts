import { testWithout } from "../support/without-feature.ts";

testWithout("interchange", {
  commands: ["import", "export"],
  tests: ["src/{app,cli,server}/**/*.test.ts"],
});
