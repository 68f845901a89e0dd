import type { AddCommand } from "../../cli/command.ts";

export const addBackupCommand: AddCommand = (program, context) => {
  program
    .command("backup <dir>")
    .summary("Copy the home, also while it is in use.")
    .description(
      "Copy the home into a new directory and check the copy. A server may use the home: every message " +
        "that it acknowledged before is in the copy. Nothing that was forgotten before is. The directory " +
        "appears when it is complete. With a database, it holds only what lies in the home.",
    )
    .takes("home", "store", "json")
    .examples([
      ["backup /mnt/backups/monday", "every chat, document, package and setting"],
      ["backup /mnt/backups/monday --json", "for scripts"],
    ])
    .action(async (dir, flags) => (await import("./copy.ts")).backup(dir, flags, context));
};

export const addRestoreCommand: AddCommand = (program, context) => {
  program
    .command("restore <dir>")
    .summary("Make a home of a backup.")
    .description(
      "Check a backup and make a home of it. The home must not exist, or must be an empty directory. It " +
        "appears when it is complete. A damaged backup is refused.",
    )
    .takes("home", "json")
    .examples([
      ["restore /mnt/backups/monday", "on a new machine"],
      ["restore /mnt/backups/monday --home /tmp/look", "to look into it"],
    ])
    .action(async (dir, flags) => (await import("./restore.ts")).restore(dir, flags, context));
};
