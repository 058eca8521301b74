// Writes a compressed copy next to each file of the build, so that the server need not compress, and prints the size of
// the page. Fails above the limit: the page is meant for slow machines and phones.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const LIMIT = 300 * 1024;
const COMPRESSIBLE = /\.(html|js|css|svg|json|txt|webmanifest)$/;

function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

let total = 0;
for (const path of files("dist").filter((path) => !/\.(br|gz)$/.test(path))) {
  const bytes = readFileSync(path);
  if (!COMPRESSIBLE.test(path)) {
    total += bytes.length;
    continue;
  }
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  const zipped = gzipSync(bytes, { level: 9 });
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, quality));
  writeFileSync(`${path}.gz`, zipped);
  total += zipped.length;
}
console.log(`the page weighs ${(total / 1024).toFixed(1)} KB with gzip, of at most ${LIMIT / 1024} KB`);
if (total > LIMIT) process.exit(1);
