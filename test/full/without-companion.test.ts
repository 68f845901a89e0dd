import { testWithout } from "../support/without-feature.ts";

testWithout("companion", {
  routes: /^\/api\/(session|restart|emotions|mood|person\b|facts|sleep|touch)/,
  events: ["emotions", "person", "sleep", "restart"],
});
