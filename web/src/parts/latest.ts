// Keeps what was named last, and forgets the rest: what a page remembers must not grow with every hour it is open.
export class Latest<T> {
  private readonly kept = new Map<string, T>();

  constructor(private readonly most: number) {}

  get(name: string): T | undefined {
    return this.kept.get(name);
  }

  keep(name: string, value: T): void {
    // A map keeps the order in which its names came, so the first is the one that nobody has named for longest.
    this.kept.delete(name);
    this.kept.set(name, value);
    const oldest = this.kept.keys().next();
    if (this.kept.size > this.most && !oldest.done) this.kept.delete(oldest.value);
  }
}
