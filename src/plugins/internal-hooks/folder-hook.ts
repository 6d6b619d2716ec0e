import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { isFields } from "../../utils/fields.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { importFile } from "../load/import-entry.ts";
import type { InternalEvent } from "./event.ts";

type Handler = (event: InternalEvent) => unknown;

/** A call that takes longer is late. */
const LATE_MS = 10_000;
/** Late calls of one hook that may be under way at a time. */
const MOST_LATE = 3;

interface Code {
  readonly name: string;
  readonly exportName: string;
  /** Gives the file to load, and a name of its present version. */
  file(): Promise<{ readonly path: string; readonly version: string }>;
}

/** The code of a hook, which is loaded when the first event comes. */
export class FolderHook {
  readonly #code: Code;
  readonly #log: Log;
  readonly #clock: Pick<Clock, "now">;
  /** When each call began that has not ended. */
  readonly #underWay = new Set<{ readonly at: number }>();
  #loading: Promise<Handler> | undefined;
  #isTold = false;
  /** Why its code cannot be run; undefined while that is not known. */
  failure: string | undefined;

  constructor(code: Code, { log, clock }: { readonly log: Log; readonly clock: Pick<Clock, "now"> }) {
    this.#code = code;
    this.#log = log;
    this.#clock = clock;
  }

  /** Rejects as the handler does. An event is left out when the code cannot be loaded, or while three calls are late. */
  async call(event: InternalEvent): Promise<void> {
    if (this.failure !== undefined) return;
    const begun = { at: this.#clock.now() };
    if ([...this.#underWay].filter(({ at }) => begun.at - at >= LATE_MS).length >= MOST_LATE)
      return this.#tellSkipped(event);
    this.#underWay.add(begun);
    try {
      const handler = await this.#handler();
      await handler?.(event);
    } finally {
      this.#underWay.delete(begun);
      if (this.#underWay.size === 0) this.#isTold = false;
    }
  }

  #tellSkipped({ type, action }: InternalEvent): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#log.warn("events are kept from a hook until its earlier calls end", {
      hook: this.#code.name,
      event: `${type}:${action}`,
      underWay: this.#underWay.size,
    });
  }

  /** Undefined when its code cannot be run, which is logged once. */
  async #handler(): Promise<Handler | undefined> {
    this.#loading ??= this.#load();
    try {
      return await this.#loading;
    } catch (error) {
      if (this.failure !== undefined) return undefined;
      this.failure = errorText(error);
      const { name: hook } = this.#code;
      const fix = `Mend it and restart the gateway, or run: openclaw hooks disable ${hook}`;
      this.#log.error("the code of a hook cannot be run", { hook, error, fix });
      return undefined;
    }
  }

  async #load(): Promise<Handler> {
    const { exportName } = this.#code;
    const { path, version } = await this.#code.file();
    const loaded = await importFile(path, version);
    const found = isFields(loaded) ? handlerIn(loaded, exportName) : undefined;
    if (isHandler(found)) return found;
    throw new Error(`${path} exports no function ${exportName}`);
  }
}

/** A CommonJS module has its exports in `default`, a second time where a compiler made it from a module. */
function handlerIn(loaded: Readonly<Record<string, unknown>>, name: string): unknown {
  const inner = loaded["default"];
  const found = loaded[name];
  if (isHandler(found) || !isFields(inner)) return found;
  return inner[name];
}

const isHandler = (value: unknown): value is Handler => typeof value === "function";
