// Unsaved drafts in local storage: they survive reloads, closed tabs and navigation. The storage key contains the
// server's origin, the user, the edited object and the base version.

export interface SavedDraft {
  /** The version the draft is based on; 0 if there was none. */
  base: number;
  text: string;
  at: string;
}

type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

export class Drafts {
  constructor(
    private readonly what: string,
    private readonly user: string,
    private readonly origin: string = location.origin,
    private readonly storage: DraftStorage = localStorage,
  ) {}

  /** Returns false if the storage is full or blocked. */
  save(base: number, text: string, at: Date = new Date()): boolean {
    try {
      this.storage.setItem(this.name(base), JSON.stringify({ text, at: at.toISOString() }));
      return true;
    } catch {
      return false;
    }
  }

  /** The most recently saved draft, whatever its base version. */
  newest(): SavedDraft | undefined {
    const kept = this.names().flatMap((name) => this.read(name) ?? []);
    return kept.sort((a, b) => b.at.localeCompare(a.at))[0];
  }

  clear(): void {
    for (const name of this.names()) this.storage.removeItem(name);
  }

  private name(base: number | ""): string {
    return `foreword.draft ${this.origin} ${encodeURIComponent(this.user)} ${this.what} v${base}`;
  }

  private names(): string[] {
    const names: string[] = [];
    for (let at = 0; at < this.storage.length; at++) {
      const name = this.storage.key(at);
      if (name?.startsWith(this.name("")) && /^\d+$/.test(name.slice(this.name("").length))) names.push(name);
    }
    return names;
  }

  private read(name: string): SavedDraft | undefined {
    try {
      const kept = JSON.parse(this.storage.getItem(name) ?? "") as Partial<SavedDraft>;
      if (typeof kept.text !== "string" || typeof kept.at !== "string") return undefined;
      return { base: Number(name.slice(this.name("").length)), text: kept.text, at: kept.at };
    } catch {
      return undefined;
    }
  }
}

/** Normalises line endings to `\n`, as the editor does. */
export function normalizeLineEndings(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
