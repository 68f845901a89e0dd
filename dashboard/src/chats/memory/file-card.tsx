import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import { isMissing, request } from "../../api/client.ts";
import { Loaded } from "../../ui/error-note.tsx";

interface Props<File> {
  readonly title: string;
  readonly says: string;
  readonly queryKey: readonly string[];
  readonly path: string;
  readonly children: (file: File, titleId: string) => ReactNode;
}

/** A text file that is read and edited here. Nothing where the server has none to edit. */
export function FileCard<File>({ title, says, queryKey, path, children }: Props<File>) {
  const titleId = useId();
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => request<File>(path, { signal }),
    // Somebody may have edited the file by hand.
    refetchOnWindowFocus: true,
    staleTime: 0,
  });
  if (isMissing(query.error)) return null;
  return (
    <section className="card stack memory-part" aria-labelledby={titleId}>
      <h2 id={titleId}>{title}</h2>
      <p className="hint">{says}</p>
      <Loaded query={query} what={`the ${title.toLowerCase()}`}>
        {(file) => children(file, titleId)}
      </Loaded>
    </section>
  );
}
