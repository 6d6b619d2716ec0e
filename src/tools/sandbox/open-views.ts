import { isInside } from "../../utils/real-path.ts";
import type { View } from "../../types/sandbox-engine.ts";
import type { IsSteady } from "./view.ts";

/** The view of a command that is about to start. */
export interface OpenView {
  readonly view: View;
  /** Called when the command has ended, or could not be started. */
  close(): void;
}

interface Running {
  readonly roots: readonly string[];
  readonly mounts: ReadonlySet<string>;
}

/**
 * The views of the running commands. A program mounts a path by its name some time after the path was looked at; until
 * then a command that may write the directory above can replace the path by a link to a file that a sandbox must not
 * have. A path that such a command has itself mounted cannot be replaced by it.
 */
export class OpenViews {
  readonly #running = new Set<Running>();
  #last: Promise<unknown> = Promise.resolve();

  /** Looks up one view after the other, so that each lookup knows the earlier views. Rejects as `look` does. */
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
