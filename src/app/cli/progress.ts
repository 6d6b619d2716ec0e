import type { Io } from "./io.ts";
import { REWRITE } from "./terminal-text.ts";

const PATIENCE_MS = 1000;
const FRAME_MS = 120;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Shows a line on the terminal when work takes longer than a second, until `stop` is called. Shows nothing in a pipe. */
export function startProgress(io: Io, label: string | (() => string)): { stop(): void } {
  if (!io.isErrTerminal) return { stop: () => undefined };
  const begun = Date.now();
  let frame = 0;
  const timer = setInterval(() => {
    const ms = Date.now() - begun;
    if (ms < PATIENCE_MS) return;
    io.err(
      `${REWRITE}${FRAMES[frame % FRAMES.length]} ${typeof label === "string" ? label : label()} ${Math.floor(ms / 1000)} s`,
    );
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

/** The same for one promise. */
export async function withProgress<T>(io: Io, label: string, work: Promise<T>): Promise<T> {
  const progress = startProgress(io, label);
  try {
    return await work;
  } finally {
    progress.stop();
  }
}
