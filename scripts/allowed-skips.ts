// What CI may skip. A test that is skipped for any other reason fails the run: a missing program is to
// be installed by .ci/run.

interface AllowedSkip {
  /** What the test says; of one that says nothing its name. */
  readonly reason: RegExp;
  readonly because: string;
}

const allowedSkips: readonly AllowedSkip[] = [
  {
    reason: /^THROUGHLINE_FULL=1 runs it$/,
    because: "npm test leaves it to npm run verify, which runs that file at its full size.",
  },
  {
    reason: /^Python lacks one of: datasets(, PIL|, trl, torch)?$/,
    because: "Debian has no package of datasets and TRL, and CI reaches npm and Debian only.",
  },
  {
    reason: /^this user may not mount a file system$/,
    because: "A container may keep root from mounting. No program is missing.",
  },
  {
    reason: /^the host took \d+ % of this machine's time$/,
    because: "The test measures time. It runs, and is skipped only when the host starved it.",
  },
  {
    reason: /^this user may not trace a process$/,
    because: "A container may keep root from tracing. No program is missing.",
  },
  { reason: /^this machine has no ::1$/, because: "IPv6 is a setting of the machine." },
  { reason: /^only root can give a file away$/, because: "Another user may run CI." },
  {
    reason: /Windows|^only Linux lists|as Linux does$|those of Linux$|^it has no signals$/,
    because: "Another operating system answers otherwise, and another test holds it to that.",
  },
  {
    reason: /: nothing to reopen$/,
    because: "A clause of a contract about what a driver keeps, for the driver in memory.",
  },
];

/** Whether CI may skip a test. @param said its reason; `true` where it gives none. */
export function isAllowedSkip(said: string | boolean, name: string): boolean {
  const reason = typeof said === "string" && said !== "" ? said : name;
  return allowedSkips.some((allowed) => allowed.reason.test(reason));
}
