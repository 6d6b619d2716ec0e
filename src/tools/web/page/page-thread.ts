import { JobThread, programUrl, type JobFailure } from "../../../utils/thread/job-thread.ts";
import type { NoText, PageJob, PageText } from "./page-job.ts";

/** Limits of the thread. Most pages take less than 0.2 s. */
const LIMITS = { jobMs: 10_000, idleMs: 60_000, heapMb: { old: 512, young: 64 } };

/** The process has one thread for pages. Its only state is the thread itself. */
let thread: JobThread<PageJob, PageText | NoText> | undefined;

/** Reads a page in a thread of its own. Never rejects. */
export function readInThread(job: PageJob): Promise<PageText | NoText | JobFailure> {
  thread ??= new JobThread(programUrl(import.meta.url, "page-program"), LIMITS);
  return thread.run(job);
}
