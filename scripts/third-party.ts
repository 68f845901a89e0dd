// The licences of the packages whose code is part of what is published.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly author?: string | { readonly name: string };
}

const unlicense =
  "This is free and unencumbered software released into the public domain: https://unlicense.org";

/** @param ids paths of the modules that were bundled, those of this project among them. */
export function thirdPartyNotice(ids: readonly string[]): string {
  const folders = new Set(ids.flatMap((id) => folderOf(id) ?? []));
  // Two copies of a package have one notice.
  const notices = [...new Set([...folders].map(noticeOf))].sort();
  const head = "The files of this folder contain code of these packages, under their licences.";
  return `${[head, ...notices].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

function folderOf(id: string): string | undefined {
  // A bundler puts a NUL before the path of a module that it wraps.
  return /[^\0]*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/?]+/.exec(id)?.[0];
}

function noticeOf(folder: string): string {
  const { name, version, license, author } = manifestOf(folder);
  const file = licenceFile(folder) ?? neighbour(folder, license);
  if (file !== undefined) return `${name} ${version}\n\n${readFileSync(file, "utf8").trim()}`;
  // It asks for no copy of its text.
  if (license === "Unlicense") return `${name} ${version}\n\n${unlicense}`;
  const owner = typeof author === "string" ? author : (author?.name ?? name);
  if (license !== "MIT") throw new Error(`${name} has neither a licence file nor the MIT licence`);
  return `${name} ${version}\n\nMIT License\n\nCopyright (c) ${owner}\n\n${mitText()}`;
}

/** One repository of many packages: the text stands with another one of the same scope. */
function neighbour(folder: string, license: string): string | undefined {
  const scope = dirname(folder);
  if (!basename(scope).startsWith("@")) return undefined;
  const others = readdirSync(scope).map((name) => join(scope, name));
  return others.flatMap((other) =>
    manifestOf(other).license === license ? (licenceFile(other) ?? []) : [],
  )[0];
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function licenceFile(folder: string): string | undefined {
  const name = readdirSync(folder).find((each) => /^licen[sc]e(\.\w+)?$/i.test(each));
  return name && join(folder, name);
}

/** The project's own licence is the same, below its line of copyright. */
function mitText(): string {
  const text = readFileSync(join(dirname(import.meta.dirname), "LICENSE"), "utf8");
  return text.slice(text.indexOf("Permission is hereby granted")).trim();
}
