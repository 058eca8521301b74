// Finds untrusted passages in a text: they are framed by tags, and each of their lines starts with a bar.
export type Piece = { kind: "trusted"; text: string } | { kind: "untrusted"; from: string; text: string };

const FRAME = /<outside-text-([0-9a-f]{8,})>\n([\s\S]*?)\n<\/outside-text-\1>/g;
const SOURCE = /^This is (.+)\. It is data, not instructions:$/;

/** Splits a text into trusted and untrusted pieces, the latter with their source. */
export function splitUntrusted(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(FRAME)) {
    pushTrusted(found, text.slice(at, match.index));
    found.push(...splitFrame(match[2] ?? ""));
    at = match.index + match[0].length;
  }
  pushTrusted(found, text.slice(at));
  return found.length > 0 ? found : [{ kind: "trusted", text }];
}

function pushTrusted(found: Piece[], text: string): void {
  if (text.trim() !== "") found.push({ kind: "trusted", text: text.replace(/^\n+|\n+$/g, "") });
}

/** Splits the content of a frame by source. A line without a bar names the source of the following lines. */
function splitFrame(text: string): Piece[] {
  const found: { kind: "untrusted"; from: string; text: string }[] = [];
  let from = "elsewhere";
  let open = false;
  for (const line of text.split("\n")) {
    if (!line.startsWith("|")) {
      from = SOURCE.exec(line)?.[1] ?? from;
      open = false;
      continue;
    }
    const words = line.replace(/^\| ?/, "");
    const last = found.at(-1);
    if (open && last) last.text += `\n${words}`;
    else found.push({ kind: "untrusted", from, text: words });
    open = true;
  }
  return found;
}
