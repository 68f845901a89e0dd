/** As in `package.json`: the first Node with SQLite 3.51.3, which mends its write-ahead log. */
export const neededNode = "24.15";

/** @param version as in `process.versions.node`. */
export function isNodeEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [neededMajor = 0, neededMinor = 0] = neededNode.split(".").map(Number);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}
