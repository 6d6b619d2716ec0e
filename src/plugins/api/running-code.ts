import { pathToFileURL } from "node:url";

/** The code of a plugin from its load to its unload. Whatever runs on its behalf carries it. */
export class RunningCode {
  readonly id: string;
  /** Whether the plugin is unloaded, and whether the time for its work to end is over. */
  hasEnded = false;
  isOver = false;
  readonly #folders: readonly string[];

  /** `root`: absolute path of the plugin's folder, without links. */
  constructor(id: string, root: string) {
    this.id = id;
    this.#folders = [`${pathToFileURL(root).href}/`, `${root}/`];
  }

  /** Whether a script, by its URL or path, is in the plugin's folder. */
  owns(script: string): boolean {
    return this.#folders.some((folder) => script.startsWith(folder));
  }

  /** Whether a line of a stack, also one of code that the plugin's code has evaluated, is in the plugin's folder. */
  ownsFrame(line: string): boolean {
    return this.#folders.some((folder) => line.includes(` ${folder}`) || line.includes(`(${folder}`));
  }
}
