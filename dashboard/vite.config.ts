import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

// The page is served below /dashboard/ by Fairlead itself; everything it needs is in the built files.
export default defineConfig({
  base: "/dashboard/",
  plugins: [preact()],
  build: {
    outDir: "../src/fairlead/dashboard/static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
