import { fstatSync } from "node:fs";
import { droppedNote, LineFile } from "./line-file.ts";

/** Bytes that may wait for the reader of standard output. More is dropped; the log file has it. */
const MOST_WAITING = 1_048_576;

export interface Lines {
  write(line: string): void;
  /** Writes what is buffered, where something is. */
  flush?(): void;
}

/** The lines of standard output. A slow reader does not block the gateway. */
export function openStdout(): Lines {
  return isFile(1) ? new LineFile(1) : new LineStream(process.stdout);
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    // There is no standard output.
    return false;
  }
}

class LineStream implements Lines {
  readonly #stream: NodeJS.WriteStream;
  #dropped = 0;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    // The reader has closed the pipe: only the output ends.
    stream.on("error", () => undefined);
    stream.on("drain", () => this.#tellDropped());
  }

  write(line: string): void {
    if (this.#stream.destroyed) return;
    if (this.#stream.writableLength + line.length > MOST_WAITING) this.#dropped += 1;
    else this.#stream.write(line);
  }

  #tellDropped(): void {
    const lines = this.#dropped;
    this.#dropped = 0;
    if (lines > 0) this.#stream.write(droppedNote(lines));
  }
}
