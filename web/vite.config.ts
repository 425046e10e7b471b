// Builds the page into one file, `crates/report/assets/report.html`, which the Rust crate includes.
// The build reads no clock and no environment but TOWTANK_BUNDLE_DIR (where to put the file), so that the same
// sources and lock file give the same bytes; check-bundle.sh holds the checked-in file to that.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The licences of all packages in the bundle, one after the other: each asks to go wherever its code goes. */
function licences(modules: readonly string[]): string {
  const folders = modules.map((id) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id));
  const packages = new Map(folders.filter((found) => found !== null).map((found) => [found[1] ?? "", found[0]]));
  const byText = new Map<string, string[]>();
  for (const name of [...packages.keys()].sort()) {
    const folder = packages.get(name) ?? "";
    const file = existsSync(folder) ? readdirSync(folder).find((each) => /^licen[cs]e/i.test(each)) : undefined;
    if (file === undefined) throw new Error(`${name} goes into the page, but has no licence file in ${folder}`);
    const text = readFileSync(join(folder, file), "utf8").replaceAll("\r", "").trim();
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  return [...byText].map(([text, names]) => `${names.join(", ")}:\n\n${text}`).join("\n\n---\n\n");
}

/** Puts the script and the style into the page: it has to work as a lone file, opened from a disk. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      const modules: string[] = [];
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") {
          script += part.code;
          modules.push(...part.moduleIds);
        } else if (name.endsWith(".css")) style += String(part.source);
        else continue;
        delete bundle[name];
      }
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build gave no index.html");
      // Inside a script element only `</script` and `<!--` mean anything to the HTML parser.
      const inert = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--").trim();
      const notices = `This page contains these packages.\n\n${licences(modules)}`.replaceAll("<", "(");
      const html = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("</head>", () => `  <style>${style.trim()}</style>\n  </head>`)
        .replace("</body>", () => `  <script type="text/plain" id="licences">\n${notices}\n</script>\n  </body>`)
        .replace("</body>", () => `  <script>${inert}</script>\n  </body>`);
      page.fileName = "report.html";
      page.source = html;
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  // Whole pages are drawn in a DOM written in JavaScript, at times on a busy machine with two cores.
  test: { testTimeout: 120_000 },
  build: {
    outDir: process.env["TOWTANK_BUNDLE_DIR"] ?? "../crates/report/assets",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1 << 20,
    chunkSizeWarningLimit: 400,
    rollupOptions: { output: { format: "iife" } },
  },
});
