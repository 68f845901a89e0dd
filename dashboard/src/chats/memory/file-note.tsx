import type { Persona } from "../../api/openapi-types.ts";

interface Props {
  readonly file: Pick<Persona, "problem" | "editable" | "this_server_only">;
  readonly name: string;
}

/** What a person should know of a file before they edit it here. */
export function FileNote({ file, name }: Props) {
  if (file.problem !== null) {
    return (
      <p className="memory-problem">
        {file.problem}. Correct the file by hand, then it can be edited here.
      </p>
    );
  }
  if (!file.editable) {
    return <p className="hint">This server keeps nothing, so this cannot be edited here.</p>;
  }
  if (!file.this_server_only) return null;
  return (
    <p className="hint">
      This changes {name} of this server only. Other servers of the same database have their own.
    </p>
  );
}
