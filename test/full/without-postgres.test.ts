import { testWithout } from "../support/without-feature.ts";

testWithout("postgres", { tests: ["src/{app,cli,server}/**/*.test.ts"] });
