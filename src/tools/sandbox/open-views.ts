import { isInside } from "../../utils/real-path.ts";
import type { IsSteady, View } from "./view.ts";

/** The view of a command that is about to start. */
export interface OpenView {
  readonly view: View;
  /** To be called when the command has ended, or could not be started. */
  close(): void;
}

interface Running {
  readonly roots: readonly string[];
  readonly mounts: ReadonlySet<string>;
}

/**
 * The views of the commands that run. A program mounts a path by its name some time after it was looked at; until then a command that
 * may write the directory above it can put a link in its place, which leads to what a sandbox must not have. What such a command has
 * mounted itself it cannot replace.
 */
export class OpenViews {
  readonly #running = new Set<Running>();
  #last: Promise<unknown> = Promise.resolve();

  /** Looks up one view after the other, so that each knows the ones before it. Rejects as `look` does. */
  open(look: (isSteady: IsSteady) => Promise<View>): Promise<OpenView> {
    const opened = this.#last.then(async () => this.#add(await look((path) => this.#isSteady(path))));
    this.#last = opened.catch(() => undefined);
    return opened;
  }

  #add(view: View): OpenView {
    const running: Running = {
      roots: view.mounts.flatMap(({ path, as }) => (as === "rw" ? [path] : [])),
      mounts: new Set(view.mounts.map(({ path }) => path)),
    };
    this.#running.add(running);
    return { view, close: () => void this.#running.delete(running) };
  }

  #isSteady(path: string): boolean {
    return [...this.#running].every(
      ({ roots, mounts }) => mounts.has(path) || !roots.some((root) => isInside(path, root)),
    );
  }
}
