import { JobThread, programUrl, type JobFailure } from "../../../utils/thread/job-thread.ts";
import type { PdfJob, PdfRefusal, PdfText } from "./pdf-job.ts";

/** Limits of the thread. Most documents of 20 pages take less than 2 s. */
const LIMITS = { jobMs: 30_000, idleMs: 60_000, heapMb: { old: 512, young: 64 } };

/** The process has one thread for documents. Its only state is the thread itself. */
let thread: JobThread<PdfJob, PdfText | PdfRefusal> | undefined;

/** Reads a document in a thread of its own. Never rejects. */
export async function readPdfInThread(job: PdfJob): Promise<PdfText | PdfRefusal> {
  thread ??= new JobThread(programUrl(import.meta.url, "pdf-program"), LIMITS);
  const read: PdfText | PdfRefusal | JobFailure = await thread.run(job);
  return "failed" in read ? { refused: read.failed } : read;
}
