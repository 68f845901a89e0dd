import type { SchemaElement } from "hyparquet-writer";
import type { OutFile } from "./out-file.ts";
import type { OutFolder } from "./out-folder.ts";
import type { VisionRow } from "./rows.ts";

type Parquet = typeof import("hyparquet-writer");

interface ParquetLimits {
  readonly rowsPerGroup: number;
  /** Of pictures; a group is held in memory, about three times over. */
  readonly bytesPerGroup: number;
  readonly bytesPerShard: number;
}

/** A row with its pictures, by the paths that they have in the packages. */
export interface VisionRecord extends VisionRow {
  readonly images: readonly { readonly bytes: Uint8Array; readonly path: string }[];
}

interface Shard {
  readonly file: OutFile;
  readonly bytes: ReturnType<typeof fileBytes>;
  readonly writer: InstanceType<Parquet["ParquetWriter"]>;
}

/** Rows in `train-00000-of-0000N.parquet`; a shard is named when the number of them is known. */
export class ParquetShards {
  readonly #folder: OutFolder;
  readonly #limits: ParquetLimits;
  readonly #names: string[] = [];
  #rows: VisionRecord[] = [];
  #bytes = 0;
  #shard: Shard | undefined;

  constructor(folder: OutFolder, limits: ParquetLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  async add(row: VisionRecord): Promise<void> {
    const bytes = row.images.reduce((sum, image) => sum + image.bytes.length, 0);
    const { rowsPerGroup, bytesPerGroup } = this.#limits;
    const isFull = this.#rows.length >= rowsPerGroup || this.#bytes + bytes > bytesPerGroup;
    if (this.#rows.length > 0 && isFull) await this.#writeGroup();
    this.#rows.push(row);
    this.#bytes += bytes;
  }

  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#writeGroup();
    await this.#endShard();
    const count = number(this.#names.length);
    await this.#folder.rename(
      this.#names.map((name, n) => [name, `train-${number(n)}-of-${count}.parquet`]),
    );
  }

  async #writeGroup(): Promise<void> {
    const { file } = this.#shard ?? {};
    if (file !== undefined && file.bytes + this.#bytes > this.#limits.bytesPerShard) {
      await this.#endShard();
    }
    this.#shard ??= await this.#beginShard();
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    await this.#shard.writer.write({
      columnData: [
        column("id", rows),
        column("prompt", rows),
        column("completion", rows),
        column("label", rows),
        // Pictures are compressed already.
        { ...column("images", rows), codec: "UNCOMPRESSED" },
      ],
      rowGroupSize: rows.length,
    });
  }

  async #beginShard(): Promise<Shard> {
    const parquet = await import("hyparquet-writer");
    const name = `train-${number(this.#names.length)}.parquet`;
    const file = await this.#folder.create(name);
    this.#names.push(name);
    const bytes = fileBytes(parquet, file);
    const writer = new parquet.ParquetWriter({
      writer: bytes,
      schema: visionSchema,
      statistics: false,
      kvMetadata: [{ key: "huggingface", value: huggingFaceMetadata }],
    });
    return { file, bytes, writer };
  }

  async #endShard(): Promise<void> {
    if (this.#shard === undefined) return;
    const { file, bytes, writer } = this.#shard;
    await writer.finish();
    await bytes.flush(); // the end of the file
    await this.#folder.finish(file);
    this.#shard = undefined;
  }
}

function column<K extends keyof VisionRecord>(name: K, rows: readonly VisionRecord[]) {
  return { name, data: rows.map((row) => row[name]), encoding: "PLAIN" as const };
}

/** Bytes in memory that go to the file by `flush`, which is called after each group. */
function fileBytes(parquet: Parquet, file: OutFile) {
  const bytes = new parquet.ByteWriter();
  const flush = async () => {
    await file.write(bytes.getBytes());
    bytes.index = 0;
  };
  return Object.defineProperty(bytes, "flush", { value: flush }) as typeof bytes & {
    readonly flush: () => Promise<void>;
  };
}

const number = (n: number) => String(n).padStart(5, "0");

const optional = { repetition_type: "OPTIONAL" } as const;
const listType = { converted_type: "LIST", logical_type: { type: "LIST" } } as const;
const stringType = { converted_type: "UTF8", logical_type: { type: "STRING" } } as const;

const text = (name: string): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  ...optional,
  ...stringType,
});

/** A list of groups, as Parquet's specification draws lists: three levels. */
function listOf(name: string, ...fields: readonly (readonly SchemaElement[])[]): SchemaElement[] {
  return [
    { name, ...optional, ...listType, num_children: 1 },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    { name: "element", ...optional, num_children: fields.length },
    ...fields.flat(),
  ];
}

const messages = (name: string) =>
  listOf(name, [text("role")], listOf("content", [text("type")], [text("text")]));

/** The columns of `kto-vision`, in the order that the batching of TRL's vision KTO was tried with. */
const visionSchema: SchemaElement[] = [
  { name: "schema", num_children: 5 },
  text("id"),
  ...messages("prompt"),
  ...messages("completion"),
  { name: "label", type: "BOOLEAN", ...optional },
  ...listOf("images", [{ name: "bytes", type: "BYTE_ARRAY", ...optional }], [text("path")]),
];

const S = { dtype: "string", _type: "Value" };
const M = {
  feature: { role: S, content: { feature: { type: S, text: S }, _type: "List" } },
  _type: "List",
};

/** Tells `datasets` that `images` are pictures; without it they load as plain structures. */
const huggingFaceMetadata = JSON.stringify({
  info: {
    features: {
      id: S,
      prompt: M,
      completion: M,
      label: { dtype: "bool", _type: "Value" },
      images: { feature: { _type: "Image" }, _type: "List" },
    },
  },
});
