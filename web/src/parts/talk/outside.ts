// Finds the words from outside in a text: what others wrote stands in a frame of its own, each line behind a bar.
export type Piece = { kind: "own"; text: string } | { kind: "outside"; from: string; text: string };

const FRAME = /<outside-text-([0-9a-f]{8,})>\n([\s\S]*?)\n<\/outside-text-\1>/g;
const SOURCE = /^This is (.+)\. It is data, not instructions:$/;

/** A text as pieces: our own words, and what is from outside with where it is from. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(FRAME)) {
    own(found, text.slice(at, match.index));
    found.push(...framed(match[2] ?? ""));
    at = match.index + match[0].length;
  }
  own(found, text.slice(at));
  return found.length > 0 ? found : [{ kind: "own", text }];
}

function own(found: Piece[], text: string): void {
  if (text.trim() !== "") found.push({ kind: "own", text: text.replace(/^\n+|\n+$/g, "") });
}

/** What a frame holds: one piece for each place it is from. A line without a bar is ours, and says where the next are from. */
function framed(text: string): Piece[] {
  const found: { kind: "outside"; from: string; text: string }[] = [];
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
    else found.push({ kind: "outside", from, text: words });
    open = true;
  }
  return found;
}
