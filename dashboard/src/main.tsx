import "./styles.css";
import "./ui/ui.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startEvents } from "./api/events.ts";
import { App, loadViews } from "./app.tsx";
import { keepInputMethodKeys } from "./ui/keys.ts";

keepInputMethodKeys();
startEvents();
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
setTimeout(() => void loadViews(), 10_000); // after what is looked at, and all that it loads
