import type { SchemaElement } from "hyparquet-writer";

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
export const visionSchema: SchemaElement[] = [
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
export const huggingFaceMetadata = JSON.stringify({
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
