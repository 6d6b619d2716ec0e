import type { RunningOutput } from "../../types/run/backend.ts";
import { tailOf, MAX_LINES } from "../cap.ts";

const UPDATE_EVERY_MS = 250;
/** Factor by which each pause is longer than the one before, so that a command of a day makes only about a hundred updates. */
const UPDATE_GROWTH = 1.1;
const UPDATE_BYTES = 8 * 1024;

/** The end of what a command has written until now, short enough to be shown again and again. */
export const endOf = (output: RunningOutput): string =>
  tailOf(output.text(), { lines: MAX_LINES, bytes: UPDATE_BYTES }).text;

/**
 * Shows the newest output of a command until the returned function is called: at once, then after 250 ms, then less and less
 * often.
 */
export function showProgress(output: RunningOutput, show: (partial: string) => void): () => void {
  const updates = throttle(() => show(endOf(output)));
  const unwatch = output.watch(updates.request);
  if (output.size > 0) updates.request();
  return () => {
    unwatch();
    updates.stop();
  };
}

/** The last request is never lost before `stop`. */
function throttle(call: () => void): { request(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  let waitMs = UPDATE_EVERY_MS;
  const fire = (): void => {
    isDue = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) {
        fire();
      }
    }, waitMs);
    waitMs *= UPDATE_GROWTH;
    call();
  };
  return {
    request() {
      isDue = true;
      if (timer === undefined) {
        fire();
      }
    },
    stop: () => clearTimeout(timer),
  };
}
