import { isJsonObject, type JsonObject } from "../json.ts";
import { misconfigured } from "../options.ts";
import { isChatModel, isModelName, type OfferedModel } from "./model-name.ts";

/**
 * The address of an Ollama server, from what people put into OLLAMA_HOST: `host`, `host:port`,
 * `:port`, or a URL. The port is 11434, or the scheme's own where a URL names none. An address that
 * a server listens on everywhere (`0.0.0.0`, `::`) becomes the one to reach it at.
 *
 * Source: Ollama's own reading of the variable (envconfig, `Host`).
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: not an address.
 */
export function ollamaUrl(host = ""): string {
  const given = host.trim();
  const text = /^https?:\/\//i.test(given) ? given : `http://${withPort(given)}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "" || url.search !== "") {
    throw misconfigured("OLLAMA_HOST must be a host, host:port or http(s) URL");
  }
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (url.hostname === "[::]") url.hostname = "[::1]";
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Says whether an address that `ollamaUrl` gave is one of this machine's own. */
export function isOnThisMachine(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** `host`, `:port` and the like with what is missing; an IPv6 address without brackets gets them. */
function withPort(given: string): string {
  const isIpv6 = !given.startsWith("[") && given.split(":").length > 2;
  const [, host, port, path] =
    /^(\[[^\]]*\]|[^:/@]*)(?::(\d+))?(\/.*)?$/.exec(isIpv6 ? `[${given}]` : given) ?? [];
  if (host === undefined) return "";
  return `${host === "" ? "127.0.0.1" : host}:${port ?? "11434"}${path ?? ""}`;
}

/** What `/api/tags` holds, in its order; `undefined`: this is not one. */
export function ollamaModels({ models }: JsonObject): readonly OfferedModel[] | undefined {
  if (!Array.isArray(models)) return undefined;
  return models.filter(isJsonObject).flatMap(({ name, size, details, capabilities }) => {
    const { family, families } = isJsonObject(details) ? details : {};
    // Models for embeddings are of BERT's kind, by Ollama's own word or by their name.
    if (!isModelName(name) || /bert/i.test(String(family ?? "")) || !isChatModel(name)) return [];
    const sees = [families, capabilities]
      .flat()
      .some((each) => /^(clip|mllama|vision)$/.test(`${each}`));
    const sizeBytes = typeof size === "number" && size > 0 ? size : undefined;
    return [{ model: name, sizeBytes, takesPictures: sees || undefined }];
  });
}
