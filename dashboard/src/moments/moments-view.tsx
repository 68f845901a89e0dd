import { useRef } from "react";
import { QueryError } from "../ui/error-note.tsx";
import { MoreButton } from "../ui/more-button.tsx";
import { Empty, Loading, Page } from "../ui/page.tsx";
import { CapturePanel } from "./capture/capture-panel.tsx";
import { MomentDetail } from "./moment-detail.tsx";
import { MomentItem } from "./moment-item.tsx";
import { useMomentStats, useMoments } from "./use-moments.ts";
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
  const { list, entries } = useMoments();
  const { name: open, show, close, leave } = useOpenMoment();
  const rows = useRef<HTMLUListElement>(null);
  return (
    <div className={`moments ${open === undefined ? "" : "has-open"}`}>
      <div className="moments-list">
        <QueryError query={list} />
        {list.isPending ? <Loading label="Loading the moments" /> : null}
        {list.isSuccess && entries.length === 0 ? <NoMoments /> : null}
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

function NoMoments() {
  return (
    <Empty title="No moments yet">
      A moment is what led to a reaction: the last messages and, with your consent, pictures and
      sound. Mark an answer in a chat as good or bad, and the moment is saved here.
    </Empty>
  );
}
