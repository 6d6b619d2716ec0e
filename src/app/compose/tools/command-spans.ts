import { randomUUID } from "node:crypto";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { writeAtomic } from "../../../store/disk.ts";
import { forgetOldest } from "../../../utils/forget-oldest.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import { isInside } from "../../../utils/real-path.ts";

/** Whose words what commands write may have. */
interface Origin {
  readonly sources?: string | undefined;
  readonly guest?: string | undefined;
}

/** One line of the file; of several with the same id the last one counts. */
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

/** Most spans that are kept; of more the oldest are forgotten. */
const MOST_SPANS = 2000;
/** Milliseconds between two commands of one origin that count as one span. */
const NEAR_MS = 1000;
/** Lines that the file may have of spans that changed, besides as many as there are spans. */
const MOST_EXTRA = 1000;
/** The clock of files may be behind by a tick of the kernel. */
const TICK_MS = 10;

/** The times in which commands ran that could write content of others into files. Read once; each begin and end appends a line. */
export class CommandSpans {
  readonly #file: string;
  /** How many commands of a span run. */
  readonly #running = new Map<string, number>();
  /** Lines of the file. */
  #lines = 0;
  #loading: Promise<Map<string, Span>> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** From now until the returned function is called. Rejects with the errors of the disk, as does that function. */
  async begin(origin: Origin, roots: readonly string[] | undefined): Promise<() => Promise<void>> {
    const all = await this.#all();
    const now = Date.now();
    const of = { ...(roots && { roots: [...roots] }), ...origin };
    const near = [...all.values()].findLast((one) => isSame(one, of) && now - (one.to ?? now) <= NEAR_MS);
    const span: Span = near ? open(near) : { id: randomUUID(), ...of, from: now - TICK_MS };
    this.#running.set(span.id, (this.#running.get(span.id) ?? 0) + 1);
    await this.#keep(all, span);
    return () => this.#end(span.id);
  }

  /** The origin of a file by the times at which it or its facts changed; undefined when no such command ran then. */
  async at(path: string, times: readonly number[]): Promise<Origin | undefined> {
    const covers = ({ roots, from, to = Infinity }: Span) =>
      times.some((time) => time >= from && time <= to) &&
      (roots === undefined || roots.some((root) => isInside(path, root)));
    return [...(await this.#all()).values()].findLast(covers);
  }

  async #end(id: string): Promise<void> {
    const left = (this.#running.get(id) ?? 1) - 1;
    if (left > 0) return void this.#running.set(id, left);
    this.#running.delete(id);
    const all = await this.#all();
    const span = all.get(id);
    if (span) await this.#keep(all, { ...span, to: Date.now() });
  }

  /** One line after the other. A caller gets its own error, and the next line is written all the same. */
  async #keep(all: Map<string, Span>, span: Span): Promise<void> {
    const before = all.get(span.id);
    all.delete(span.id);
    all.set(span.id, span);
    forgetOldest(all, MOST_SPANS);
    if (JSON.stringify(before) === JSON.stringify(span)) return;
    const writing = this.#writing.then(() => this.#append(all, span));
    this.#writing = writing.catch(() => undefined);
    await writing;
  }

  /** A file that has become much longer than what it says is written anew. */
  async #append(all: ReadonlyMap<string, Span>, span: Span): Promise<void> {
    this.#lines += 1;
    if (this.#lines <= 2 * all.size + MOST_EXTRA) return appendFile(this.#file, textOf(span), { mode: 0o600 });
    this.#lines = all.size;
    await this.#writeAnew(all);
  }

  async #writeAnew(all: ReadonlyMap<string, Span>): Promise<void> {
    await writeAtomic(this.#file, [...all.values()].map(textOf).join(""));
  }

  #all(): Promise<Map<string, Span>> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Commands of a process that was killed have run until now at most. */
  async #load(): Promise<Map<string, Span>> {
    const texts = ((await unlessMissing(readFile(this.#file, "utf8"))) ?? "").split("\n").filter((one) => one !== "");
    const all = new Map<string, Span>();
    for (const span of texts.flatMap((text) => parsed(text) ?? [])) {
      all.delete(span.id);
      all.set(span.id, span);
    }
    while (all.size > MOST_SPANS) forgetOldest(all, MOST_SPANS);
    const unended = [...all.values()].filter(({ to }) => to === undefined);
    const now = Date.now();
    for (const span of unended) all.set(span.id, { ...span, to: now });
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    this.#lines = all.size;
    if (unended.length > 0 || texts.length > all.size) await this.#writeAnew(all);
    return all;
  }
}

const textOf = (span: Span): string => `${JSON.stringify(span)}\n`;

const isSame = (one: Span, of: Omit<Span, "id" | "from" | "to">): boolean =>
  one.sources === of.sources && one.guest === of.guest && JSON.stringify(one.roots) === JSON.stringify(of.roots);

/** The same span while one of its commands runs again. */
function open({ id, roots, sources, guest, from }: Span): Span {
  return {
    id,
    ...(roots && { roots }),
    ...(sources !== undefined && { sources }),
    ...(guest !== undefined && { guest }),
    from,
  };
}

/** Undefined for a line that a kill cut off. */
function parsed(text: string): Span | undefined {
  try {
    return line.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
