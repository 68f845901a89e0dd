const shapes = {
  talk: "M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z",
  chats: "M4 6h16M4 12h16M4 18h10",
  mood: "M3 13c2.5 0 2.5-5 5-5s2.5 9 5 9 2.5-6 4-6 1.5 2 4 2",
  status: "M4 17a8 8 0 1 1 16 0M12 17l4-5M4 17h2M18 17h2M12 9v1",
  memory: "M12 20a8 8 0 1 1 8-8M12 16a4 4 0 1 1 4-4M12 12h.01",
  moments: "M12 20l-7-7a4.500 4.500 0 0 1 7-5.500 4.500 4.500 0 0 1 7 5.500z",
  like: "M7 11v9H4v-9zM7 11l4-7a2 2 0 0 1 2.500 2.200L13 10h5a2 2 0 0 1 2 2.400l-1.200 6A2 2 0 0 1 16.800 20H7",
  dislike:
    "M7 13V4H4v9zM7 13l4 7a2 2 0 0 0 2.500-2.200L13 14h5a2 2 0 0 0 2-2.400l-1.200-6A2 2 0 0 0 16.800 4H7",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16M15 6v12M18 9v6",
  panel:
    "M5 5h14a1.500 1.500 0 0 1 1.500 1.500v11A1.500 1.500 0 0 1 19 19H5a1.500 1.500 0 0 1-1.500-1.500v-11A1.500 1.500 0 0 1 5 5zM9.500 5v14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  down: "M12 5v14M6 13l6 6 6-6",
  camera:
    "M3 8a2 2 0 0 1 2-2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zM15 11l6-3.500v9L15 13",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M9 9h.01",
  play: "M8 5.500v13l10.500-6.500z",
  pause: "M8.500 6v12M15.500 6v12",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  pat: "M9.500 14V7.500a1.500 1.500 0 0 1 3 0V11M12.500 11V5.500a1.500 1.500 0 0 1 3 0V11M15.500 11V7a1.500 1.500 0 0 1 3 0v7.500a6 6 0 0 1-6 6H12a5.500 5.500 0 0 1-4.300-2.100L5.100 15a1.500 1.500 0 0 1 2.300-1.900l2.100 2.100",
  mic: "M12 4a3 3 0 0 0-3 3v4a3 3 0 0 0 6 0V7a3 3 0 0 0-3-3zM6 11a6 6 0 0 0 12 0M12 17v3",
  hands: "M4 10v4M8 7v10M12 4v16M16 7v10M20 10v4",
  speaker: "M5 9.500h3l4-3.500v12l-4-3.500H5zM16 9a4.5 4.5 0 0 1 0 6M18.5 6.500a8 8 0 0 1 0 11",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15.5 15.500L20 20",
  retry: "M4 12a8 8 0 1 1 2.5 5.800M4 19v-4.500h4.5",
  edit: "M5 19l1-4L16 5l3 3L9 18zM14 7l3 3",
  copy: "M9 9h10v11H9zM5 15V4h10",
  locked: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3M12 15v1.500",
  unlocked: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 6.800-1.200M12 15v1.500",
  fork: "M7 4v10M7 20a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM17 9a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM17 9a8.500 8.500 0 0 1-7.500 8.500",
  hide: "M4 4l16 16M6.5 8A13 13 0 0 0 3 12c2 3.5 5 6 9 6 1.5 0 3-.4 4.200-1M10 6.200A9 9 0 0 1 12 6c4 0 7 2.5 9 6a14 14 0 0 1-2 2.600",
  back: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  clip: "M19.500 11.500l-7.700 7.700a4.800 4.800 0 0 1-6.800-6.800l8-8a3.200 3.200 0 0 1 4.500 4.500l-8 8a1.600 1.600 0 0 1-2.300-2.300l7.400-7.300",
  file: "M13 4H7a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V9zM13 4v5h5",
  open: "M6 9l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
} as const;

export type IconName = keyof typeof shapes;

/** A drawing beside words, or inside a button that has a label: never alone. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.6 : 1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={shapes[name]} />
    </svg>
  );
}

/** The logo: one line that runs through. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M4 20c6 0 6-8 12-8s6 8 12 8" />
    </svg>
  );
}
