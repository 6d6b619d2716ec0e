import { pathToFileURL } from "node:url";
import { errorText } from "../../utils/text/error-text.ts";
import type { LoadGuard } from "../trial/guard.ts";
import type { RunningCode } from "../api/running-code.ts";
import type { PluginWatch } from "../api/watch.ts";

interface Surroundings {
  readonly watch: PluginWatch;
  readonly guard: LoadGuard;
  /** Every plugin whose code this process has run, also unloaded ones. */
  readonly codes: () => Iterable<RunningCode>;
  /** Absolute folder of the gateway's own code, without links. */
  readonly ownRoot?: string | undefined;
}

/**
 * Errors of plugins that nobody has caught: finds the plugin to name, and remembers the error. Its functions never
 * throw.
 */
export class StrayErrors {
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /**
   * The plugin whose code threw an error, to be asked where the error arrives: the first plugin in its stack; without one, and
   * when no code of the gateway is in it either, the plugin on whose behalf this process works right now.
   */
  ownerOf(error: unknown): string | undefined {
    const frames = framesOf(error);
    return (this.#inStack(frames) ?? (this.#isGateways(frames) ? undefined : this.#around.watch.current))?.id;
  }

  /** Logs and counts a rejected promise that is a plugin's. False when it is none. */
  takeRejection(error: unknown): boolean {
    // Code of the gateway that a plugin has called rejects too: then the plugin does not wait for the promise.
    const code = this.#inStack(framesOf(error)) ?? this.#around.watch.current;
    if (code) this.#around.watch.noteStray(code, "a promise that nobody awaits", error);
    return code !== undefined;
  }

  /** The process ends because of this plugin. */
  noteCrash(id: string, error: unknown): void {
    this.#around.guard.noteCrash(id, errorText(error));
  }

  #inStack(frames: readonly string[]): RunningCode | undefined {
    const codes = [...this.#around.codes()];
    for (const frame of frames) {
      const owner = codes.find((code) => code.ownsFrame(frame));
      if (owner) return owner;
    }
    return undefined;
  }

  #isGateways(frames: readonly string[]): boolean {
    const { ownRoot } = this.#around;
    if (ownRoot === undefined) return false;
    const url = pathToFileURL(ownRoot).href;
    return frames.some((frame) => frame.includes(`${url}/`) || frame.includes(`${ownRoot}/`));
  }
}

/** How many causes of an error are looked at. */
const MOST_CAUSES = 5;

/** The lines of the stack, without the message, which may be any text; then the lines of its causes. */
function framesOf(error: unknown): readonly string[] {
  const frames: string[] = [];
  let at = error;
  try {
    for (let count = 0; count < MOST_CAUSES && at instanceof Error; count++) {
      const head = `${at.name}: ${at.message}`;
      const stack = String(at.stack);
      const lines = (stack.startsWith(head) ? stack.slice(head.length) : stack).split("\n");
      frames.push(...lines.filter((line) => /^\s+at /.test(line)));
      at = at.cause;
    }
  } catch {
    // An error that does not let itself be read has no more lines.
  }
  return frames;
}
