// A least-recently-written cache with a fixed capacity.
export class BoundedCache<T> {
  private readonly entries = new Map<string, T>();

  constructor(private readonly capacity: number) {}

  get(name: string): T | undefined {
    return this.entries.get(name);
  }

  set(name: string, value: T): void {
    // A `Map` iterates in insertion order, so the first key is the oldest.
    this.entries.delete(name);
    this.entries.set(name, value);
    const oldest = this.entries.keys().next();
    if (this.entries.size > this.capacity && !oldest.done) this.entries.delete(oldest.value);
  }
}
