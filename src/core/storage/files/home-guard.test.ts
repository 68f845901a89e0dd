import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeFolder } from "../../../../test/support/indexed-home.ts";
import { isThroughlineError } from "../../errors.ts";
import { type Logger, silentLogger } from "../../logger.ts";
import { checkFileSystem, checkHome, checkLockFile, isAt } from "./home-guard.ts";

const windows = process.platform === "win32" && "Windows has neither owners nor modes of this form";
const notRoot = process.getuid?.() !== 0 && "only root can give a file away";

function warnings(): { readonly logger: Logger; readonly said: string[] } {
  const said: string[] = [];
  return { logger: { ...silentLogger, warn: (_, message) => said.push(message) }, said };
}

const refusedWith = (pattern: RegExp) => (error: unknown) => {
  assert.ok(isThroughlineError(error, "THROUGHLINE_CONFIGURATION"));
  assert.match(error.message, pattern);
  return true;
};

const types: readonly (readonly [type: number, kind: string, name?: string])[] = [
  [0xef53, "local"], // ext4
  [0x58465342, "local"], // XFS
  [0x9123683e, "local"], // btrfs
  [0x01021994, "local"], // tmpfs
  [0x794c7630, "local"], // overlayfs
  [0x2fc12fc1, "local"], // ZFS
  [0x6969, "network", "NFS"],
  [0x517b, "network", "SMB"],
  [0xff534d42, "network", "CIFS"],
  [0xff534d42 | 0, "network", "CIFS"], // as a machine with 32 bits gives it
  [0xfe534d42, "network", "SMB2"],
  [0x564c, "network", "NCP"],
  [0x5346414f, "network", "AFS"],
  [0x73757245, "network", "Coda"],
  [0x00c36400, "network", "Ceph"],
  [0x0bd00bd0, "network", "Lustre"],
  [0x47504653, "network", "GPFS"],
  [0x65735546, "user-space", "FUSE"],
  [0x01021997, "user-space", "9P"],
];
for (const [type, kind, name = ""] of types) {
  test(`a file system whose statfs type is ${type} is ${kind} ${name}`, () => {
    const { logger, said } = warnings();
    const check = () => checkFileSystem("/h", type, false, logger);
    if (kind === "network")
      assert.throws(check, refusedWith(new RegExp(`is on ${name}, a network`)));
    else check();
    assert.equal(said.length, kind === "user-space" ? 1 : 0);
  });
}

test("a home on NFS is refused, and if forced a warning says what is not promised", () => {
  const { logger, said } = warnings();
  assert.throws(() => checkFileSystem("/h", 0x6969, false, logger), refusedWith(/NFS.*local disk/));
  assert.deepEqual(said, []);
  checkFileSystem("/h", 0x6969, true, logger);
  assert.match(said.join(), /second machine is not kept out/);
});

test("a home of ours with mode 0700 is taken without a warning", (t) => {
  const home = homeFolder(t);
  const { logger, said } = warnings();
  assert.ok(isAt(home, checkHome(home, logger)));
  assert.deepEqual(said, []);
});

test("a home that is not there, a file or a link is refused", (t) => {
  const home = homeFolder(t);
  fs.writeFileSync(join(home, "file"), "");
  fs.mkdirSync(join(home, "real"), { mode: 0o700 });
  fs.symlinkSync(join(home, "real"), join(home, "link"));
  const check = (name: string) => () => checkHome(join(home, name), silentLogger);
  assert.throws(check("none"), refusedWith(/does not exist/));
  assert.throws(check("file"), refusedWith(/not a directory/));
  assert.throws(check("link"), refusedWith(/is a link/));
  check("real")();
});

for (const mode of [0o770, 0o720, 0o702, 0o777]) {
  test(`a home of mode ${mode.toString(8)} is refused, with the command that mends it`, {
    skip: windows,
  }, (t) => {
    const home = homeFolder(t);
    fs.chmodSync(home, mode);
    assert.throws(() => checkHome(home, silentLogger), refusedWith(/others can write.*chmod 700/));
  });
}

for (const mode of [0o755, 0o750, 0o701]) {
  test(`a home of mode ${mode.toString(8)} is taken with a warning`, { skip: windows }, (t) => {
    const home = homeFolder(t);
    fs.chmodSync(home, mode);
    const { logger, said } = warnings();
    checkHome(home, logger);
    assert.match(said.join(), /chmod 700/);
  });
}

test("a home that its user cannot write is refused as a setting, with the command that mends it", {
  skip: windows,
}, (t) => {
  const home = homeFolder(t);
  // Used before: nothing in it would have to be created.
  for (const name of ["lock.db", "index.db"]) fs.writeFileSync(join(home, name), "");
  for (const name of ["chats", "forgotten"]) fs.mkdirSync(join(home, name), { mode: 0o700 });
  const nobody = 65_534;
  const isRoot = process.getuid?.() === 0;
  const all = ["", "lock.db", "index.db", "chats", "forgotten"].map((name) => join(home, name));
  if (isRoot) for (const path of all) fs.chownSync(path, nobody, nobody);
  const module = new URL("./open-file-storage.ts", import.meta.url).href;
  const program =
    `const { openFileStorage } = await import(${JSON.stringify(module)});` +
    `const opening = openFileStorage({ home: ${JSON.stringify(home)} });` +
    'await opening.catch((error) => process.stdout.write(error.code + ": " + error.message));';
  fs.chmodSync(home, 0o500);
  let said: string;
  try {
    said = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
      ...(isRoot ? { uid: nobody, gid: nobody } : {}),
    });
  } finally {
    fs.chmodSync(home, 0o700);
  }
  assert.match(said, /^THROUGHLINE_CONFIGURATION: .*cannot be written by this user.*chmod 700/);
});

test("a home and a lock file of another user are refused", { skip: windows || notRoot }, (t) => {
  const home = homeFolder(t);
  fs.writeFileSync(join(home, "lock.db"), "", { mode: 0o600 });
  fs.chownSync(join(home, "lock.db"), 65534, 65534);
  assert.throws(() => checkLockFile(join(home, "lock.db")), refusedWith(/another user/));
  fs.chownSync(home, 65534, 65534);
  assert.throws(() => checkHome(home, silentLogger), refusedWith(/another user/));
});

test("a lock file that is a link, a hard link, a pipe or a directory is refused", {
  skip: windows,
}, (t) => {
  const home = homeFolder(t);
  const plant = {
    link: (path: string) => fs.symlinkSync(join(home, "other"), path),
    hard: (path: string) => fs.linkSync(join(home, "other"), path),
    pipe: (path: string) => void execFileSync("mkfifo", [path]),
    directory: (path: string) => fs.mkdirSync(path),
  };
  fs.writeFileSync(join(home, "other"), "", { mode: 0o600 });
  for (const [name, make] of Object.entries(plant)) {
    make(join(home, name));
    const advice =
      name === "hard" ? /stop every process.*remove it/ : /stop every process.*move it/;
    assert.throws(() => checkLockFile(join(home, name)), refusedWith(advice), name);
  }
});

test("a lock file that others can write is refused, one that they can read is closed to them", {
  skip: windows,
}, (t) => {
  const path = join(homeFolder(t), "lock.db");
  fs.writeFileSync(path, "");
  fs.chmodSync(path, 0o666);
  assert.throws(() => checkLockFile(path), refusedWith(/others can write.*chmod 600/));
  fs.chmodSync(path, 0o644);
  checkLockFile(path);
  assert.equal(fs.statSync(path).mode & 0o777, 0o600);
});
