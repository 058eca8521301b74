import { defineConfig } from "vite";

/** Where `npm run dev` finds a running `foreword serve`. */
const server = process.env.FOREWORD_URL ?? "http://127.0.0.1:7777";

export default defineConfig({
  // Nothing is inlined: the page's content security policy allows files of its own and nothing else.
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
