import { testWithout } from "../support/without-feature.ts";

testWithout("postgres", { isApart: true });
