/** Of the HTML rendering: light, dark and print, with nothing to load. */
export const htmlStyle = `
:root {
  color-scheme: light dark;
  --ink: #1c1b19; --paper: #fff; --quiet: #5f5b55; --line: #dcd8d0;
  --user: #eef3fb; --other: #f6f4ef;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #ece9e3; --paper: #191816; --quiet: #a8a39a; --line: #3a3733;
    --user: #202a38; --other: #242220;
  }
}
body {
  margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif;
}
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 {
  margin: 2.5rem 0 1rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); font-size: 1.1rem;
}
header p, .note, .who { color: var(--quiet); font-size: .875rem; }
header p, article p { overflow-wrap: anywhere; }
article { margin: .75rem 0; padding: .75rem 1rem; border-radius: .5rem; background: var(--other); }
article.user { background: var(--user); }
article p { margin: .35rem 0; }
.who b { color: var(--ink); }
.note { text-align: center; }
.text, pre { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
pre, .tool .text { margin: .35rem 0; font: .875rem/1.5 ui-monospace, monospace; }
@media print {
  :root {
    --ink: #000; --paper: #fff; --quiet: #444; --line: #999; --user: #fff; --other: #fff;
  }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  article { border: 1px solid var(--line); }
  h2, .who { break-after: avoid; }
}
`;
