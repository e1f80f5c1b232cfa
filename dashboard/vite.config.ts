import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

// The page is served below /dashboard/ by Fairlead itself, wherever that is mounted: the server writes the base element,
// and every address in the built files is relative to it.
export default defineConfig({
  base: "./",
  plugins: [preact()],
  build: {
    outDir: "../src/fairlead/dashboard/static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
