/** The logo: one line that runs through. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M4 20c6 0 6-8 12-8s6 8 12 8" />
    </svg>
  );
}
