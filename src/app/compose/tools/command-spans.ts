import { randomUUID } from "node:crypto";
import { appendFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { writeAtomic } from "../../../store/disk.ts";
import type { PathLines } from "../../../store/places.ts";
import { isInside } from "../../../utils/real-path.ts";
import { loadOnce } from "../../../utils/share-calls.ts";
import { readTextFile } from "../../../store/text-file.ts";

/** The origin of the content that a command may write: untrusted sources, and a guest. */
interface Origin {
  readonly sources?: string | undefined;
  readonly guest?: string | undefined;
}

/** One line of the file; of several lines with the same id the last one counts. */
const line = z.object({
  id: z.string(),
  /** Directories that the commands could write; everywhere when unset. */
  roots: z.array(z.string()).optional(),
  sources: z.string().optional(),
  guest: z.string().optional(),
  /** Milliseconds since 1970. */
  from: z.number(),
  /** Unset while a command runs. */
  to: z.number().optional(),
});
type Span = z.output<typeof line>;

/** Most spans that are kept; beyond them the oldest ended spans are forgotten. */
const MOST_SPANS = 2000;
/** Milliseconds between two commands of one origin that count as one span. */
const NEAR_MS = 1000;
/** Most lines of the file for changed spans, besides twice as many as there are spans. */
const MOST_EXTRA = 1000;
/** The clock of files may be behind by a tick of the kernel. */
const TICK_MS = 10;

/** The state of a span while its commands run. */
interface Running {
  count: number;
  /** The time when the first command began: on the machine's clock, and on the clock that nobody sets. */
  readonly began: number;
  readonly ticks: number;
  /** The id of the rest of the span, should somebody set the clock back. */
  readonly later: string;
}

/**
 * The times in which commands ran that could write content of others into files. Read once; each begin and end appends
 * a line.
 */
export class CommandSpans {
  readonly #file: string;
  readonly #paths: PathLines;
  readonly #running = new Map<string, Running>();
  /** Lines of the file; infinite when the last of them may have been cut off. */
  #lines = 0;
  readonly #all = loadOnce(() => this.#load());
  #writing: Promise<unknown> = Promise.resolve();

  constructor(file: string, paths: PathLines) {
    this.#file = file;
    this.#paths = paths;
  }

  /**
   * Notes a command from now until the returned function is called. Rejects with the errors of the disk, as does that
   * function.
   */
  async begin(origin: Origin, roots: readonly string[] | undefined): Promise<() => Promise<void>> {
    const all = await this.#all();
    const now = Date.now();
    const of = { ...(roots && { roots: [...roots] }), ...origin };
    const near = [...all.values()].findLast((one) => isSame(one, of) && isNear(one, now));
    const span: Span = near ? open(near) : { id: randomUUID(), ...of, from: now - TICK_MS };
    const running = this.#running.get(span.id) ?? {
      count: 0,
      began: now,
      ticks: performance.now(),
      later: randomUUID(),
    };
    running.count += 1;
    this.#running.set(span.id, running);
    await this.#keep(all, span);
    return () => this.#end(span.id);
  }

  /** Notes that a file was written at that time, by the file's own times. Rejects with the errors of the disk. */
  async wrote(origin: Origin, time: number): Promise<void> {
    await this.#keep(await this.#all(), { id: randomUUID(), ...origin, from: time, to: time });
  }

  /** The origin of a file by the times at which it or its facts changed; undefined when no such command ran then. */
  async at(path: string, times: readonly number[]): Promise<Origin | undefined> {
    const covers = ({ roots, from, to = Infinity }: Span) =>
      times.some((time) => time >= from && time <= to) &&
      (roots === undefined || roots.some((root) => isInside(path, root)));
    const all = [...(await this.#all()).values()];
    return all.flatMap((span) => (span.to === undefined ? this.#parts(span) : [span])).findLast(covers);
  }

  async #end(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running && running.count > 1) return void (running.count -= 1);
    const all = await this.#all();
    const span = all.get(id);
    const parts = span ? this.#parts(span) : [];
    this.#running.delete(id);
    // Times of files have parts of a millisecond, which this clock leaves out.
    const now = Date.now() + 1;
    for (const part of parts) await this.#keep(all, { ...part, to: part.to ?? now });
  }

  /**
   * The span of commands that run: one span, or two when the clock was set back meanwhile, one by the clock before that
   * and one by the clock after it.
   */
  #parts(span: Span): readonly Span[] {
    const running = this.#running.get(span.id);
    if (!running) return [span];
    const lasted = performance.now() - running.ticks;
    const from = Date.now() - lasted - TICK_MS;
    if (from > running.began - NEAR_MS) return [span];
    return [
      { ...span, to: running.began + lasted + 1 },
      { ...span, id: running.later, from },
    ];
  }

  /** Writes one line after the other. A caller gets its own error, and the next line is written all the same. */
  async #keep(all: Map<string, Span>, span: Span): Promise<void> {
    const before = all.get(span.id);
    all.delete(span.id);
    all.set(span.id, span);
    forgetEnded(all);
    if (JSON.stringify(before) === JSON.stringify(span)) return;
    const writing = this.#writing.then(() => this.#append(all, span));
    // The caller gets the error below; the next line is written all the same.
    this.#writing = writing.catch(() => undefined);
    await writing;
  }

  /**
   * Appends the line of a span. The file is written anew when it has become much longer than its content needs, and
   * when its last line may be cut off.
   */
  async #append(all: ReadonlyMap<string, Span>, span: Span): Promise<void> {
    const lines = this.#lines + 1;
    this.#lines = Infinity;
    if (lines > 2 * all.size + MOST_EXTRA) return this.#writeAnew(all);
    await appendFile(this.#file, this.#textOf(span), { mode: 0o600 });
    this.#lines = lines;
  }

  #textOf(span: Span): string {
    return `${this.#paths.kept(JSON.stringify(span))}\n`;
  }

  async #writeAnew(all: ReadonlyMap<string, Span>): Promise<void> {
    const spans = [...all.values()];
    await writeAtomic(this.#file, spans.map((span) => this.#textOf(span)).join(""));
    this.#lines = spans.length;
  }

  /** Reads the file. Commands of a process that was killed count as running until now. */
  async #load(): Promise<Map<string, Span>> {
    const texts = ((await readTextFile(this.#file)) ?? "").split("\n").filter((one) => one !== "");
    const all = new Map<string, Span>();
    for (const span of (await this.#paths.opened(texts)).flatMap((text) => parsed(text) ?? [])) {
      // Lines with one id differ in the roots that `opened` gave the present paths.
      const roots = span.roots && [...new Set([...(all.get(span.id)?.roots ?? []), ...span.roots])];
      all.delete(span.id);
      all.set(span.id, { ...span, ...(roots && { roots }) });
    }
    const unended = [...all.values()].filter(({ to }) => to === undefined);
    const now = Date.now();
    for (const span of unended) all.set(span.id, { ...span, to: Math.max(now, span.from) });
    forgetEnded(all);
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    this.#lines = all.size;
    if (unended.length > 0 || texts.length > all.size) await this.#writeAnew(all);
    return all;
  }
}

/**
 * Forgets the oldest ended spans beyond the limit. A running command's span stays, however old: its writes are still to
 * come.
 */
function forgetEnded(all: Map<string, Span>): void {
  for (const { id, to } of all.values()) {
    if (all.size <= MOST_SPANS) return;
    if (to !== undefined) all.delete(id);
  }
}

/** Whether a span continues or ended just before `now`; not when the clock was set back since. */
const isNear = ({ from, to }: Span, now: number): boolean => to === undefined || (now >= from && now - to <= NEAR_MS);

const isSame = (one: Span, of: Omit<Span, "id" | "from" | "to">): boolean =>
  one.sources === of.sources && one.guest === of.guest && JSON.stringify(one.roots) === JSON.stringify(of.roots);

/** The span as it is while one of its commands runs again: without an end. */
function open({ id, roots, sources, guest, from }: Span): Span {
  return {
    id,
    ...(roots && { roots }),
    ...(sources !== undefined && { sources }),
    ...(guest !== undefined && { guest }),
    from,
  };
}

/** The span of a line; undefined for a line that a kill cut off. */
function parsed(text: string): Span | undefined {
  try {
    return line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
