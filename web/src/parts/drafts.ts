// Work that is not saved yet, kept in this browser: a reload, a closed tab or a detour to another view loses nothing.
// What is kept is named after the server, who writes, the thing that is written, and the version it is based on.

export interface Kept {
  /** The version it was begun from; 0 if there was none. */
  base: number;
  text: string;
  at: string;
}

type Drawer = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

export class Drafts {
  constructor(
    private readonly what: string,
    private readonly whose: string,
    private readonly origin: string = location.origin,
    private readonly drawer: Drawer = localStorage,
  ) {}

  /** Whether there was room for it. */
  keep(base: number, text: string, at: Date = new Date()): boolean {
    try {
      this.drawer.setItem(this.name(base), JSON.stringify({ text, at: at.toISOString() }));
      return true;
    } catch {
      return false;
    }
  }

  /** The work that was kept last, whatever version it is based on. */
  newest(): Kept | undefined {
    const kept = this.names().flatMap((name) => this.read(name) ?? []);
    return kept.sort((a, b) => b.at.localeCompare(a.at))[0];
  }

  forget(): void {
    for (const name of this.names()) this.drawer.removeItem(name);
  }

  private name(base: number | ""): string {
    return `foreword.draft ${this.origin} ${encodeURIComponent(this.whose)} ${this.what} v${base}`;
  }

  private names(): string[] {
    const names: string[] = [];
    for (let at = 0; at < this.drawer.length; at++) {
      const name = this.drawer.key(at);
      if (name?.startsWith(this.name("")) && /^\d+$/.test(name.slice(this.name("").length))) names.push(name);
    }
    return names;
  }

  private read(name: string): Kept | undefined {
    try {
      const kept = JSON.parse(this.drawer.getItem(name) ?? "") as Partial<Kept>;
      if (typeof kept.text !== "string" || typeof kept.at !== "string") return undefined;
      return { base: Number(name.slice(this.name("").length)), text: kept.text, at: kept.at };
    } catch {
      return undefined;
    }
  }
}

/** A text as the editor holds it: whatever ended its lines, now it is `\n`. */
export function inEditor(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
