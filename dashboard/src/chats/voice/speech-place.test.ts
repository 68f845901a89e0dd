import assert from "node:assert/strict";
import { test } from "node:test";
import { installOnDevice, placeOf, voiceOfDevice } from "./speech-place.ts";

const install = async () => true;
for (const [says, recognition, place] of [
  ["that does not say", {}, "vendor"],
  ["that has it", { available: async () => "available", install }, "device"],
  ["that can download it", { available: async () => "downloadable", install }, "download"],
  ["that is downloading it", { available: async () => "downloading", install }, "download"],
  ["that cannot install it", { available: async () => "downloadable" }, "vendor"],
  ["without it", { available: async () => "unavailable", install }, "vendor"],
  ["that fails", { available: async () => Promise.reject(new Error("no")), install }, "vendor"],
] as const) {
  test(`a browser ${says} recognises speech at: ${place}`, async () => {
    assert.equal(await placeOf(recognition, "en-US"), place);
  });
}

test("the browser is asked for the language, on the device", async () => {
  const asked: unknown[] = [];
  const recognition = {
    available: async (options: unknown) => {
      asked.push(options);
      return "downloadable";
    },
    install: async (options: unknown) => {
      asked.push(options);
      return true;
    },
  };
  await placeOf(recognition, "de-AT");
  assert.equal(await installOnDevice(recognition, "de-AT"), true);
  const wanted = { langs: ["de-AT"], processLocally: true };
  assert.deepEqual(asked, [wanted, wanted]);
});

test("a download that fails is none", async () => {
  assert.equal(await installOnDevice({ install: async () => false }, "en"), false);
  const failing = { install: async () => Promise.reject(new Error("offline")) };
  assert.equal(await installOnDevice(failing, "en"), false);
});

const voice = (lang: string, localService: boolean, isDefault = false) => {
  return { lang, localService, default: isDefault };
};
for (const [says, voices, wanted] of [
  ["the default voice of the device", [voice("en-GB", true), voice("de-DE", true, true)], 1],
  [
    "one of the language, not the remote default",
    [voice("en-US", false, true), voice("en_GB", true)],
    1,
  ],
  ["the very language first", [voice("en-GB", true), voice("en-US", true)], 1],
  ["none of another language", [voice("en-US", false, true), voice("de-DE", true)], undefined],
  ["none, where all are remote", [voice("en-US", false, true)], undefined],
  ["none, where there is none", [], undefined],
] as const) {
  test(`to read English aloud on the device: ${says}`, () => {
    const found = voiceOfDevice(voices, "en-US");
    assert.equal(found, wanted === undefined ? undefined : voices[wanted]);
  });
}
