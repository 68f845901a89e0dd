// Loaded before the test runner of Node, which follows every promise with async hooks to know which
// test an error belongs to that nobody catches. That takes a third of the time of all tests. Without
// it such an error still fails its file, and its stack says where it came from. Which suite a test
// stands in is told when the suite runs; in a test that has begun to wait, only `t.test` is a part.
import asyncHooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

const { createHook } = asyncHooks;
const own = asyncHooks.AsyncResource.prototype;
const { runInAsyncScope } = own;
const idle: asyncHooks.AsyncHook = { enable: () => idle, disable: () => idle };

function hookFor(callbacks: asyncHooks.HookCallbacks): asyncHooks.AsyncHook {
  const isOfRunner = new Error("who asks?").stack?.includes("test_runner/harness") === true;
  if (!isOfRunner) return createHook(callbacks);
  Reflect.set(
    own,
    "runInAsyncScope",
    function (this: asyncHooks.AsyncResource, ...call: unknown[]) {
      callbacks.init?.(this.asyncId(), "", 0, this);
      return Reflect.apply(runInAsyncScope, this, call);
    },
  );
  return idle;
}

Reflect.set(asyncHooks, "createHook", hookFor);
syncBuiltinESMExports();
