import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import sharp, { type JpegOptions } from "sharp";
import { type JpegFault, jpegFault } from "./jpeg-check.ts";

const kinds = {
  baseline: { quality: 85, optimiseCoding: false },
  progressive: { quality: 85, progressive: true },
  "with 4:4:4 colour": { chromaSubsampling: "4:4:4" },
  "by mozjpeg": { mozjpeg: true },
} as const satisfies Record<string, JpegOptions>;

describe("a picture", () => {
  const pictures = new Map<string, Buffer>();
  before(async () => {
    const noise = { type: "gaussian", mean: 100, sigma: 60 } as const;
    const create = { width: 64, height: 48, channels: 3, noise, background: "#000" } as const;
    for (const [kind, options] of Object.entries(kinds)) {
      pictures.set(kind, await sharp({ create }).jpeg(options).toBuffer());
    }
  });
  const baseline = () => Buffer.from(pictures.get("baseline")!);

  for (const kind of Object.keys(kinds)) {
    test(`${kind} is whole`, () => assert.equal(jpegFault(pictures.get(kind)!), undefined));

    test(`${kind} that is cut anywhere is not`, () => {
      const bytes = pictures.get(kind)!;
      for (let end = 0; end < bytes.length; end++) {
        assert.notEqual(jpegFault(bytes.subarray(0, end)), undefined, `cut at ${end}`);
      }
    });
  }

  const segment = (bytes: Buffer, marker: number) => bytes.indexOf(Buffer.from([0xff, marker]));
  const end = Buffer.from([0xff, 0xd9]);
  const rows: readonly (readonly [says: string, make: () => Uint8Array, fault: JpegFault])[] = [
    ["of 0 bytes", () => Buffer.alloc(0), "empty"],
    ["that is a PNG", () => Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), "no_start"],
    ["that is only a start and an end", () => Buffer.from([0xff, 0xd8, 0xff, 0xd9]), "no_picture"],
    ["without its end", () => baseline().subarray(0, -2), "cut"],
    [
      "with its end in the middle of the picture",
      () => Buffer.concat([baseline().subarray(0, -200), end, baseline().subarray(-200)]),
      "bytes_after_end",
    ],
    ["with bytes behind its end", () => Buffer.concat([baseline(), end]), "bytes_after_end"],
    [
      "whose quantisation table is cut short",
      () => edit(segment(baseline(), 0xdb) + 3, 50),
      "bad_table",
    ],
    [
      "whose Huffman table has too many codes",
      () => edit(segment(baseline(), 0xc4) + 5, 9),
      "bad_table",
    ],
    ["of no height", () => edit(segment(baseline(), 0xc0) + 6, 0), "bad_frame"],
    [
      "that samples a colour 15 times",
      () => edit(segment(baseline(), 0xc0) + 11, 0xf1),
      "bad_frame",
    ],
    ["whose scan names no known colour", () => edit(segment(baseline(), 0xda) + 5, 99), "bad_scan"],
    [
      "whose segment has a length of 0",
      () => edit(segment(baseline(), 0xda) + 3, 0),
      "bad_segment",
    ],
  ];
  /** The baseline picture with one byte changed. */
  function edit(at: number, value: number): Buffer {
    const bytes = baseline();
    bytes[at] = value;
    return bytes;
  }
  for (const [says, make, fault] of rows) {
    test(`${says} is ${fault}`, () => assert.equal(jpegFault(make()), fault));
  }

  test("of any bytes is judged without an error", () => {
    const bytes = baseline();
    for (let at = 2; at < Math.min(bytes.length, 700); at++) {
      for (const value of [0, 0xff, bytes[at]! ^ 0x40]) jpegFault(edit(at, value));
    }
  });
});
