import { parentPort } from "node:worker_threads";
import { renderParts } from "./render-parts.ts";
import type { RenderJob } from "./render-thread.ts";

// The thread in which long texts are rendered. A text that makes the renderer throw ends the thread.
parentPort?.on("message", ({ markdown, limits }: RenderJob) => {
  parentPort?.postMessage(renderParts(markdown, limits));
});
