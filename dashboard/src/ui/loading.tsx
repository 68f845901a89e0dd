/** Something is on its way. Shows itself only after a moment, so that fast answers do not flicker. */
export function Loading({ label = "Loading" }: { readonly label?: string }) {
  return (
    <div className="loading" role="status">
      <span className="loading-dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span className="visually-hidden">{label}</span>
    </div>
  );
}
