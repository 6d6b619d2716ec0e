import { parentPort } from "node:worker_threads";
import type { PageJob } from "./page-job.ts";
import { readPage } from "./read-page.ts";

// The thread in which pages are read. A page that makes a parser throw ends the thread.
parentPort?.on("message", (job: PageJob) => {
  parentPort?.postMessage(readPage(job));
});
