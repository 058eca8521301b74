// Maps layers to ranges of a text. The server counts UTF-8 bytes; JavaScript strings use UTF-16 code units.
import type { Layer } from "./prompt";

/** The index in `text` of each byte offset, in any order. An offset inside a character maps to its start. */
export function placesOf(text: string, offsets: number[]): number[] {
  const wanted = [...new Set(offsets)].sort((a, b) => a - b);
  const found = new Map<number, number>();
  let bytes = 0;
  let at = 0;
  for (const offset of wanted) {
    while (at < text.length) {
      const point = text.codePointAt(at) ?? 0;
      const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (bytes + size > offset) break;
      bytes += size;
      at += point < 0x10000 ? 1 : 2;
    }
    found.set(offset, at);
  }
  return offsets.map((offset) => found.get(offset) ?? text.length);
}

/** A piece of text that belongs to one layer or to none. */
export interface Piece<L> {
  layer: L | null;
  text: string;
}

/** Splits `text` at the boundaries of layers. */
export function piecesOf<L extends Pick<Layer, "range">>(text: string, layers: L[]): Piece<L>[] {
  const held = layers
    .filter((layer) => rangeOf(layer)[1] > rangeOf(layer)[0])
    .sort((a, b) => rangeOf(a)[0] - rangeOf(b)[0]);
  const places = placesOf(text, held.flatMap(rangeOf));
  const splitUntrusted: Piece<L>[] = [];
  let at = 0;
  held.forEach((layer, index) => {
    const from = Math.max(at, places[index * 2] ?? at);
    const to = Math.max(from, places[index * 2 + 1] ?? from);
    if (from > at) splitUntrusted.push({ layer: null, text: text.slice(at, from) });
    if (to > from) splitUntrusted.push({ layer, text: text.slice(from, to) });
    at = to;
  });
  if (at < text.length) splitUntrusted.push({ layer: null, text: text.slice(at) });
  return splitUntrusted;
}

export function textOf(text: string, layer: Pick<Layer, "range">): string {
  const [from, to] = placesOf(text, rangeOf(layer));
  return text.slice(from, to);
}

/** An excerpt without separators, for small spaces. */
export function excerptOf(text: string, layer: Pick<Layer, "range">): string {
  const lines = textOf(text, layer)
    .slice(0, 4000)
    .split("\n")
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
  const begun = lines.slice(lines.findIndex((line) => !/^(#|<[\w-]+>$)/.test(line)));
  return begun.join("\n").slice(0, 1500);
}

/** A line of the text, and the layer of each of its pieces. */
export interface Line<L> {
  parts: Piece<L>[];
}

/** Groups of lines: a group starts with the line in which its layer starts. */
export interface Group<L> {
  layer: L | null;
  /** The number of its first line, starting at 1. */
  first: number;
  lines: Line<L>[];
}

export function groupsOf<L extends Pick<Layer, "range">>(text: string, layers: L[]): Group<L>[] {
  const groups: Group<L>[] = [];
  let number = 1;
  let line: Line<L> = { parts: [] };
  for (const piece of piecesOf(text, layers)) {
    piece.text.split("\n").forEach((part, index) => {
      if (index > 0) {
        add(groups, line, number++);
        line = { parts: [] };
      }
      if (part !== "" || line.parts.length === 0) line.parts.push({ layer: piece.layer, text: part });
    });
  }
  add(groups, line, number);
  return groups;
}

function add<L>(groups: Group<L>[], line: Line<L>, number: number): void {
  // The longest piece determines the layer of a line, so that separators do not count.
  const owner = line.parts.reduce(
    (best, part) => (part.text.length > best.text.length ? part : best),
    line.parts[0] ?? { layer: null, text: "" },
  ).layer;
  const last = groups.at(-1);
  if (last && last.layer === owner) last.lines.push(line);
  else groups.push({ layer: owner, first: number, lines: [line] });
}

function rangeOf(layer: Pick<Layer, "range">): [number, number] {
  return [layer.range[0] ?? 0, layer.range[1] ?? 0];
}
