import { parentPort } from "node:worker_threads";
import { background } from "../../../utils/background.ts";
import type { PdfJob } from "./pdf-job.ts";

/** Most bytes of one array. A compressed stream of a few kilobytes can grow to gigabytes. */
const MOST_BYTES = 96 * 1024 * 1024;

const ARRAYS = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
] as const;

const TOO_LARGE = "a part of it is too large when it is decompressed";

/**
 * Bounds the memory that this thread takes outside of its heap, which no limit of a thread covers: larger arrays throw,
 * and so does decompression to more bytes. Called before a parser is loaded, and only in a thread of its own.
 */
function boundMemory(): void {
  for (const name of ARRAYS) {
    const made = globalThis[name];
    Object.defineProperty(globalThis, name, { value: bounded(made, made.BYTES_PER_ELEMENT), configurable: true });
  }
  Object.defineProperty(globalThis, "DecompressionStream", { value: BoundedDecompression, configurable: true });
}

const Native = DecompressionStream;

/** Node's own decompression, which ends with an error above the limit. */
class BoundedDecompression {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: DecompressionStream["writable"];

  constructor(format: ConstructorParameters<typeof DecompressionStream>[0]) {
    const { readable, writable } = new Native(format);
    let size = 0;
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        size += chunk.byteLength;
        if (size > MOST_BYTES) out.error(new RangeError(TOO_LARGE));
        else out.enqueue(chunk);
      },
    });
    this.writable = writable;
    this.readable = readable.pipeThrough(limit);
  }
}

const bounded = <T extends new (...given: never[]) => object>(array: T, bytesEach: number): T =>
  new Proxy(array, {
    construct(target, given: unknown[], newTarget) {
      const [length] = given;
      if (typeof length === "number" && length * bytesEach > MOST_BYTES) throw new RangeError(TOO_LARGE);
      const made: object = Reflect.construct(target, given, newTarget);
      return made;
    },
  });

boundMemory();
// Loaded after `boundMemory`, so that the parser has the bounded arrays.
const reading = import("./read-pdf.ts");

async function answer(job: PdfJob): Promise<void> {
  const { readPdf } = await reading;
  parentPort?.postMessage(await readPdf(job));
}

// The thread in which documents are read. A document that makes the parser throw outside of its promise ends the
// thread.
parentPort?.on("message", (job: PdfJob) => {
  background("reading of a document", answer(job));
});
