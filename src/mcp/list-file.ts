import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { Log } from "../types/log.ts";
import { isMissing } from "../utils/missing.ts";
import { KeyedQueue } from "../utils/keyed-queue.ts";
import { listing } from "./listing.ts";

/** A server's tools from its last run with these settings. */
const known = z.object({ settings: z.string(), at: z.number(), listing });
export type Known = z.output<typeof known>;

const fileShape = z.object({ version: z.literal(1), servers: z.record(z.string(), known) });

/**
 * The lists of tools that are kept over a restart, so that no server has to be started before it is called. A file that cannot be
 * read counts as empty: the servers are asked again.
 */
export class ListFile {
  readonly #path: string;
  readonly #log: Pick<Log, "warn">;
  readonly #queue = new KeyedQueue();

  constructor(path: string, log: Pick<Log, "warn">) {
    this.#path = path;
    this.#log = log;
  }

  /** Reads the lists. Never rejects. */
  async read(): Promise<ReadonlyMap<string, Known>> {
    try {
      const text = await readFile(this.#path, "utf8");
      return new Map(Object.entries(fileShape.parse(JSON.parse(text)).servers));
    } catch (error) {
      if (!isMissing(error))
        this.#log.warn("the list of MCP tools cannot be read; the servers are asked again", { error });
      return new Map();
    }
  }

  /** Writes the lists. Never rejects: without the file, the servers are asked again after a restart. */
  write(servers: ReadonlyMap<string, Known>): Promise<void> {
    return this.#queue.run("file", async () => {
      try {
        const draft = `${this.#path}.new`;
        const text = JSON.stringify({ version: 1, servers: Object.fromEntries(servers) });
        await writeFile(draft, text, { mode: 0o600 });
        await rename(draft, this.#path);
      } catch (error) {
        this.#log.warn("the list of MCP tools cannot be written", { error });
      }
    });
  }
}
