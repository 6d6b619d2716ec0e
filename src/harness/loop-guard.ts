import { createHash } from "node:crypto";

/** The last calls of a run that are looked at, and how many of them may be the very same with the very same result. */
const REMEMBERED = 30;
const WARN_AT = 6;
const STOP_AT = 12;

export type LoopVerdict = "fresh" | "warn" | "stop";

/** Notices a model that makes the same call with the same result again and again. */
export class LoopGuard {
  readonly #seen: string[] = [];
  /** Name of the tool, once the run is to end. */
  stoppedBy: string | undefined;

  /** Takes a finished call. `warn` once per series, `stop` when the warning was not heeded. */
  saw(call: { readonly name: string; readonly args: unknown }, result: string): LoopVerdict {
    const mark = createHash("sha1")
      .update(JSON.stringify([call.name, call.args, result]))
      .digest("base64");
    this.#seen.push(mark);
    if (this.#seen.length > REMEMBERED) this.#seen.shift();
    const times = this.#seen.filter((one) => one === mark).length;
    if (times >= STOP_AT) {
      this.stoppedBy = call.name;
      return "stop";
    }
    return times === WARN_AT ? "warn" : "fresh";
  }
}

/** What the model reads behind a result that it has had before. */
export const LOOP_WARNING =
  "[This very call has given this very result several times. Change the approach, or tell the user what is missing.]";
