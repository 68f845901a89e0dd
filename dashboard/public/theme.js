// Shows what the person chose before the page is drawn for the first time.
{
  const kept = localStorage.getItem("throughline-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
