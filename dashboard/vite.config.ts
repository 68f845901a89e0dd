import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// biome-ignore lint/style/noDefaultExport: vite reads its configuration so
export default defineConfig({
  base: "/",
  plugins: [react()],
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    // The page's policy refuses data: addresses, which small files would become.
    assetsInlineLimit: 0,
    // Every browser with what the page uses knows how to preload; the fallback is one more script.
    modulePreload: { polyfill: false },
    target: "es2024",
    reportCompressedSize: false,
    // What the first view needs is two files, not one for each set of views that share something.
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // The parts of the Memory view load one by one.
          groups: [{ name: "shared", minShareCount: 2, test: /^(?!.*\/chats\/memory\/)/ }],
        },
      },
    },
  },
});
