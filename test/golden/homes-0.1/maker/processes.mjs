// Processes of 0.1 in which the clock says what the maker says, and that stop where it says.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./world.mjs";

const preload = join(import.meta.dirname, "preload.mjs");
const program = join(root, "src/cli/main.ts");

function environment({ at, env = {} }) {
  const { PATH } = process.env;
  return {
    PATH,
    HOME: "/nonexistent",
    TZ: "UTC",
    GOLDEN_AT: at,
    THROUGHLINE_MODEL: "offline",
    ...env,
  };
}

/** Runs one command of `throughline` to its end. */
export function throughlineCommand(args, options) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", preload, program, ...args],
    {
      ...{ env: environment(options), encoding: "utf8", cwd: root },
    },
  );
  if (status !== (options.exits ?? 0))
    throw new Error(`${args.join(" ")}: ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** Starts a process that is to be killed; `gone` resolves with the signal that ended it. */
export function startProcess(file, args, options) {
  const child = spawn(process.execPath, ["--import", preload, file, ...args], {
    ...{ env: environment(options), cwd: root, stdio: ["ignore", "pipe", "inherit"] },
  });
  const gone = new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? code)),
  );
  return { child, gone };
}

export const serverProgram = program;
