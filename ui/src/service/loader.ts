/** Runs one load at a time, the next no sooner than a pause after the last; what is asked for meanwhile becomes one. */
export class Loader {
  #busy = false;
  #wanted = false;
  #stopped = false;

  constructor(private readonly load: () => Promise<void>, private readonly pauseMs: number) {}

  request(): void {
    this.#wanted = true;
    if (!this.#busy) void this.#run();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      await this.load();
      await new Promise((done) => setTimeout(done, this.pauseMs));
    }
    this.#busy = false;
  }
}
