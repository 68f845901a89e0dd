import { testWithout } from "../support/without-feature.ts";

testWithout("moments", {
  commands: ["feedback"],
  routes: /^\/api\/(media|frames|audio|feedback)/,
  events: ["buffers", "feedback"],
});
