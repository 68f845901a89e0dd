// Loaded before the test runner of Node, which follows every promise with async hooks to know which
// test an error belongs to that nobody catches. That takes a fifth of the time of all tests. Without
// it such an error still fails its file, and its stack says where it came from.
import asyncHooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

const { createHook } = asyncHooks;
const idle: asyncHooks.AsyncHook = { enable: () => idle, disable: () => idle };

Reflect.set(asyncHooks, "createHook", (callbacks: asyncHooks.HookCallbacks) =>
  new Error("who asks?").stack?.includes("test_runner/harness") ? idle : createHook(callbacks),
);
syncBuiltinESMExports();
