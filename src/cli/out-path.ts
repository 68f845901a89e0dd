import { resolve, sep } from "node:path";
import { Failed, isErrno } from "./failure.ts";

const reasons: Readonly<Record<string, string>> = {
  ...{ ENOENT: "its folder is not there", ENOTDIR: "a part of the path is a file" },
  ...{ EEXIST: "a file stands there", EROFS: "what is there can only be read" },
  ...{ EACCES: "this user may not write there", EPERM: "this user may not write there" },
  ...{ ELOOP: "its links lead nowhere", ENAMETOOLONG: "the name is too long" },
};

/** A path after `--out` that nothing can be written to, told as such. Any other error as it is. */
export function wrongOut(out: string, cause: unknown): unknown {
  if (!isErrno(cause, ...Object.keys(reasons)) || !isAbout(out, cause)) return cause;
  const { code = "" } = cause as NodeJS.ErrnoException;
  return new Failed(`${out} cannot be written: ${reasons[code]} (${code})`, {
    code: "THROUGHLINE_CONFIGURATION",
    wayOut:
      "Name another place with --out, in a folder that is there and that this user can write.",
    cause,
  });
}

/** What is written may be read from elsewhere: what goes wrong there is no fault of `--out`. */
function isAbout(out: string, error: unknown): boolean {
  const { path } = error as NodeJS.ErrnoException;
  if (path === undefined) return false;
  const [wanted, failed] = [resolve(out), resolve(path)];
  return failed.startsWith(wanted) || wanted.startsWith(failed + sep);
}
