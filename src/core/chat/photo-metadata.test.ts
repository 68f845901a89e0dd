// Pictures with all that a camera writes, made by libvips: what is left of it, and whether they look the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import sharp, { type Sharp } from "sharp";
import { withoutPhotoMetadata } from "./photo-metadata.ts";

/** A picture of 24 x 16 pixels of noise, with a place, a device, a comment and an orientation. */
const photo = (orientation: number): Sharp =>
  sharp({
    create: {
      ...{ width: 24, height: 16, channels: 3, background: "black" },
      noise: { type: "gaussian", mean: 128, sigma: 40 },
    },
  })
    .withXmp("<x:xmpmeta xmlns:x='adobe:ns:meta/'><place>48.8584 N</place></x:xmpmeta>")
    .withExif({
      IFD0: { Make: "Secretcam", Model: "S1" },
      IFD3: { GPSLatitudeRef: "N", GPSLatitude: "48/1 51/1 30/1" },
    })
    .withIccProfile("p3")
    .withMetadata({ orientation });

const encoders: Readonly<Record<string, (picture: Sharp) => Promise<Buffer>>> = {
  jpeg: (picture) => picture.jpeg().toBuffer(),
  "progressive jpeg": (picture) => picture.jpeg({ progressive: true }).toBuffer(),
  png: (picture) => picture.png().toBuffer(),
  webp: (picture) => picture.webp().toBuffer(),
  "lossless webp": (picture) => picture.webp({ lossless: true }).toBuffer(),
};

const pixels = (bytes: Uint8Array) => sharp(bytes).raw().toBuffer();
const metadataOf = (bytes: Uint8Array) => sharp(bytes).metadata();
const secret = /Secretcam|48\.8584|GPS|xmpmeta/;

for (const [name, encode] of Object.entries(encoders)) {
  for (const orientation of [1, 6]) {
    test(`a ${name} with orientation ${orientation} keeps its pixels, its colours and that, and nothing else`, async () => {
      const given = await encode(photo(orientation));
      const { exif, xmp, icc } = await metadataOf(given);
      assert.ok(exif?.includes("Secretcam") && xmp, "the sample has something to remove");
      const bare = Buffer.from(withoutPhotoMetadata(given));
      const left = await metadataOf(bare);
      assert.deepEqual([left.orientation ?? 1, left.xmp], [orientation, undefined]);
      assert.equal(left.exif === undefined, orientation === 1);
      assert.deepEqual(left.icc, icc);
      assert.doesNotMatch(bare.toString("latin1"), secret);
      assert.ok((await pixels(bare)).equals(await pixels(given)));
      assert.equal(withoutPhotoMetadata(bare), bare, "there is nothing more to remove");
    });
  }
}

test("what follows the end of a picture goes too, as a film of the moment does", async () => {
  for (const name of ["jpeg", "png", "webp"]) {
    const given = (await encoders[name]?.(photo(6))) ?? Buffer.alloc(0);
    const bare = withoutPhotoMetadata(given);
    const longer = Buffer.concat([given, Buffer.from("ftypmp42 Secretcam")]);
    assert.deepEqual(withoutPhotoMetadata(longer), bare, name);
  }
});

test("other files are given back as they are, and no damage makes it throw or keep a place", async () => {
  for (const text of ["", "GIF89a", "%PDF-1.7 GPS", "RIFF....WAVE", "words"]) {
    const bytes = Buffer.from(text);
    assert.equal(withoutPhotoMetadata(bytes), bytes);
  }
  const samples = await Promise.all(Object.values(encoders).map((encode) => encode(photo(6))));
  fc.assert(
    fc.property(fc.constantFrom(...samples), fc.nat(), fc.nat(255), (sample, at, byte) => {
      const cut = withoutPhotoMetadata(sample.subarray(0, at % sample.length));
      assert.doesNotMatch(Buffer.from(cut).toString("latin1"), secret);
      const changed = Buffer.from(sample);
      changed[at % sample.length] = byte;
      withoutPhotoMetadata(changed);
    }),
    { numRuns: process.env["THROUGHLINE_FULL"] === "1" ? 2_000 : 300 },
  );
});
