import type { Clock } from "../../src/types/clock.ts";
import type { Log } from "../../src/types/log.ts";

/** A clock that moves when it is told to; its timers run when they are told to. */
export function stoppedClock(start = Date.UTC(2026, 0, 1)): Clock & {
  pass(ms: number): void;
  /** Timers set and not forgotten. */
  waiting(): number;
  fire(): void;
} {
  let now = start;
  const calls = new Set<() => void>();
  return {
    now: () => now,
    after(_ms, call) {
      calls.add(call);
      return () => void calls.delete(call);
    },
    pass(ms) {
      now += ms;
    },
    waiting: () => calls.size,
    fire() {
      for (const call of calls) {
        calls.delete(call);
        call();
      }
    },
  };
}

/** A log whose warnings are kept, with everything that was said beside them. */
export function silentLog(): { readonly log: Log; readonly lines: string[]; text(): string } {
  const lines: string[] = [];
  const all: unknown[] = [];
  const keep = (message: string, fields?: unknown) => {
    lines.push(message);
    all.push(message, fields, fields instanceof Object && "error" in fields ? String(fields.error) : undefined);
  };
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep, with: () => log };
  return { log, lines, text: () => JSON.stringify(all) };
}
