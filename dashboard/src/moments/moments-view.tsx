import { useDeferredValue, useRef, useState } from "react";
import { QueryError } from "../ui/error-note.tsx";
import { MoreButton } from "../ui/more-button.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { CapturePanel } from "./capture/capture-panel.tsx";
import { MomentDetail } from "./moment-detail.tsx";
import { MomentFilters } from "./moment-filters.tsx";
import { MomentItem } from "./moment-item.tsx";
import { noFilter, useMomentStats, useMoments } from "./use-moments.ts";
import { useOpenMoment } from "./use-open-moment.ts";
import { storageInWords } from "./words.ts";
import "./moments.css";

/** All moments, and the camera and microphone that feed them. */
export function MomentsView() {
  const stats = useMomentStats();
  return (
    <Page title="Moments">
      <QueryError query={stats} />
      {stats.isPending ? <Loading label="Loading the moments" /> : null}
      {stats.data === null ? (
        <Empty title="Moments are off">The server was started without moments.</Empty>
      ) : null}
      {stats.data === undefined || stats.data === null ? null : (
        <>
          <CapturePanel stats={stats.data} />
          <p className="hint moments-storage">{storageInWords(stats.data)}</p>
          <Gallery />
        </>
      )}
    </Page>
  );
}

function Gallery() {
  const [filter, setFilter] = useState(noFilter);
  const { list, entries, isFiltered } = useMoments(useDeferredValue(filter));
  const { name: open, show, close, leave } = useOpenMoment();
  const rows = useRef<HTMLUListElement>(null);
  const hasNone = list.isSuccess && !list.isPlaceholderData && entries.length === 0;
  return (
    <div className={`stack moments ${open === undefined ? "" : "has-open"}`}>
      <div className="moments-list">
        <QueryError query={list} />
        {hasNone && !isFiltered ? null : <MomentFilters filter={filter} onFilter={setFilter} />}
        {list.isPending ? <Loading label="Loading the moments" /> : null}
        {hasNone && !isFiltered ? <NoMoments /> : null}
        <p className="hint moments-none" role="status">
          {hasNone && isFiltered ? noneInWords(list.hasNextPage) : ""}
        </p>
        <ul ref={rows} aria-label="Moments">
          {entries.map((entry) => (
            <MomentItem
              key={entry.name}
              entry={entry}
              isOpen={entry.name === open}
              open={() => show(entry.name)}
            />
          ))}
        </ul>
        <MoreButton list={list} rows={rows}>
          {list.isFetchingNextPage ? "Loading…" : "Show earlier moments"}
        </MoreButton>
      </div>
      {open === undefined ? null : (
        <MomentDetail key={open} name={open} onClose={close} onGone={leave} />
      )}
    </div>
  );
}

/** One request looks at the newest moments only, so that it does not take long. */
function noneInWords(hasMore: boolean): string {
  return hasMore ? "None of the newest moments matches. Earlier ones may." : "No moment matches.";
}

function NoMoments() {
  return (
    <Empty title="No moments yet">
      A moment is what led to a reaction: the last messages and, with your consent, pictures and
      sound. Mark an answer in a chat as good or bad, and the moment is saved here.
    </Empty>
  );
}
