import { OutputText } from "../../tools/host/command/output-text.ts";
import { KeptText } from "../../tools/host/command/kept-text.ts";
import type { Log } from "../../types/log.ts";

const MOST_LINES = 100;
const MOST_CHARS = 500;
const KEPT_CHARS = 1000;

/** What a server writes on its standard error: a bounded number of lines goes into the log, its end is kept for error messages. */
export class ServerLog {
  readonly #log: Pick<Log, "info" | "warn">;
  readonly #text = new OutputText();
  readonly #kept = new KeptText(KEPT_CHARS);
  #begun = "";
  #lines = 0;

  constructor(log: Pick<Log, "info" | "warn">) {
    this.#log = log;
  }

  /** Masks the secrets of this process. */
  push(chunk: Buffer): void {
    const text = this.#text.push(chunk);
    this.#kept.add(text);
    const lines = `${this.#begun}${text}`.split("\n");
    this.#begun = (lines.pop() ?? "").slice(0, MOST_CHARS);
    for (const line of lines) this.#write(line);
  }

  /** The last words, in one line. */
  end(): string {
    return this.#kept.text().replaceAll(/\s+/g, " ").trim().slice(-300);
  }

  #write(line: string): void {
    if (line.trim() === "" || this.#lines > MOST_LINES) return;
    this.#lines += 1;
    if (this.#lines > MOST_LINES)
      this.#log.warn("an MCP server writes much; the rest is left out until its next start");
    else this.#log.info("output of an MCP server", { line: line.slice(0, MOST_CHARS) });
  }
}
