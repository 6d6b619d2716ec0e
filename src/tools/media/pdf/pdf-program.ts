import { parentPort } from "node:worker_threads";
import { background } from "../../../utils/background.ts";
import { boundMemory } from "./bounded-memory.ts";
import type { PdfJob } from "./pdf-job.ts";

boundMemory();
// Loaded after that, so that the parser has the bounded arrays.
const reading = import("./read-pdf.ts");

async function answer(job: PdfJob): Promise<void> {
  const { readPdf } = await reading;
  parentPort?.postMessage(await readPdf(job));
}

// The thread in which documents are read. A document that makes the parser throw outside of its promise ends the thread.
parentPort?.on("message", (job: PdfJob) => {
  background("reading of a document", answer(job));
});
