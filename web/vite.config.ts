import { defineConfig } from "vite";

/** The address of a running `foreword serve` for `npm run dev`. */
const server = process.env.FOREWORD_URL ?? "http://127.0.0.1:7777";

export default defineConfig({
  // Nothing is inlined: the content security policy allows only files from the page's own origin.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: "es2022", reportCompressedSize: true },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/system-prompt", "/openapi.json", "/ws", "/healthz", "/readyz"].map((path) => [
        path,
        { target: server, ws: path === "/ws", changeOrigin: true, headers: { origin: server } },
      ]),
    ),
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
} as Parameters<typeof defineConfig>[0]);
