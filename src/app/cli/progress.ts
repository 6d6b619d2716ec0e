import type { Io } from "./io.ts";
import { REWRITE } from "./terminal-text.ts";

const PATIENCE_MS = 1000;
const FRAME_MS = 120;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** A line on the terminal while something takes longer than a second; gone when `stop` is called. Nothing in a pipe. */
export function startProgress(io: Io, label: string): { stop(): void } {
  if (!io.isErrTerminal) return { stop: () => undefined };
  const begun = Date.now();
  let frame = 0;
  const timer = setInterval(() => {
    const ms = Date.now() - begun;
    if (ms < PATIENCE_MS) return;
    io.err(`${REWRITE}${FRAMES[frame % FRAMES.length]} ${label} ${Math.floor(ms / 1000)} s`);
    frame += 1;
  }, FRAME_MS);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      if (frame > 0) io.err(REWRITE);
      frame = 0;
    },
  };
}

/** The same around one piece of work. */
export async function withProgress<T>(io: Io, label: string, work: Promise<T>): Promise<T> {
  const progress = startProgress(io, label);
  try {
    return await work;
  } finally {
    progress.stop();
  }
}
