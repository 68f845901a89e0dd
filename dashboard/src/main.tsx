import "./styles.css";
import "./ui/ui.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startEvents } from "./api/events.ts";
import { App, loadViews } from "./app.tsx";
import { restoreTheme } from "./ui/theme.ts";

restoreTheme();
startEvents();
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
setTimeout(() => void loadViews(), 1_000); // after what is looked at
