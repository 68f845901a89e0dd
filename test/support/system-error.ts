import { constants } from "node:os";
import { getSystemErrorMap } from "node:util";

/** The name of a failure in C: `ENOSPC`. What Node puts into `code` can differ, see below. */
export type Errno = keyof typeof constants.errno;

const listed = new Map(
  Array.from(getSystemErrorMap(), ([errno, [name, text]]) => [name, { errno, text }]),
);

/** An error with the fields that Node's own errors of system calls have. */
class SystemError extends Error {
  readonly errno: number;
  readonly code: string;
  readonly syscall: string;
  declare readonly path?: string;
  declare readonly dest?: string;

  constructor(code: string, errno: number, text: string, call: SystemCall) {
    const to = call.to === undefined ? "" : ` -> '${call.to}'`;
    const where = call.path === undefined ? "" : ` '${call.path}'${to}`;
    // Thousands of failed calls are what is tested here, and the stack of each is what would cost.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${code}: ${text}, ${call.name}${where}`);
    Error.stackTraceLimit = stackTraceLimit;
    this.errno = errno;
    this.code = code;
    this.syscall = call.name;
    if (call.path !== undefined) this.path = call.path;
    if (call.to !== undefined) this.dest = call.to;
  }
}

/** A system call as an error tells of it: Node names no path for calls on an open file. */
export interface SystemCall {
  readonly name: string;
  readonly path?: string;
  readonly to?: string;
}

/**
 * The error that a call rejects with when the kernel answers `errno`, as Node would make it. A
 * failure that libuv has no name for (`EDQUOT`, `ESTALE`) gets `code: "Unknown system error -122"`.
 */
export function systemError(errno: Errno, call: SystemCall): NodeJS.ErrnoException {
  const known = listed.get(errno);
  if (known !== undefined) return new SystemError(errno, known.errno, known.text, call);
  const number = -constants.errno[errno];
  const unknown = `Unknown system error ${number}`;
  return new SystemError(unknown, number, unknown, call);
}
