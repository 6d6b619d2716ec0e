import type { CommandEnd, LeftRunning } from "../../types/run/backend.ts";

const MOST_NAMED = 10;

function named(processes: readonly LeftRunning[]): string {
  const first = processes.slice(0, MOST_NAMED).map(({ pid, command }) => `${pid} (${command})`);
  const more = processes.length > MOST_NAMED ? `, and ${processes.length - MOST_NAMED} more` : "";
  return `${first.join(", ")}${more}`;
}

/** The processes that a command left, for the model. */
function describeLeft({ left, endedToo = [] }: CommandEnd): string {
  const ended =
    endedToo.length === 0
      ? ""
      : `\n[Ended with the command: ${named(endedToo)}. Start what must keep running with background: true.]`;
  return left.length === 0 ? ended : `${ended}\n[Still running and could not be ended: ${named(left)}]`;
}

/** The end of a command, in brackets. */
export function describeCause({ code, because, note }: CommandEnd, timeoutMs: number): string {
  const ends = {
    exit: `[exit code ${code ?? "none: a signal ended it"}]`,
    timeout: `[ended after ${timeoutMs / 1000} seconds: timeout]`,
    abort: "[aborted]",
    limit: "[ended: over a limit of the sandbox]",
  };
  return `${ends[because]}${note === undefined ? "" : `\n[${note}]`}`;
}

/** The output and the end of a command, for the model. */
export function describeEnd(end: CommandEnd, timeoutMs: number): string {
  const { output } = end;
  const rest = output.file === undefined ? "" : ` All of it is in ${output.file}.`;
  const cut = output.truncated ? `[This is the end of a longer output.${rest}]\n` : "";
  const text = output.text.trimEnd();
  return `${cut}${text === "" ? "[no output]" : text}\n\n${describeCause(end, timeoutMs)}${describeLeft(end)}`;
}
