import { testWithout } from "../support/without-feature.ts";

testWithout("companion", {
  routes: /^\/api\/(session|restart|emotions|mood|person|sleep|touch)/,
  events: ["emotions", "person", "sleep", "restart"],
});
