import type { CommandEnd } from "../../types/run/backend.ts";

const MOST_NAMED = 10;

/** Names the processes that a command left running, so that the model can end them. */
function describeRunning(left: CommandEnd["left"], because: CommandEnd["because"]): string {
  if (left.length === 0) return "";
  const named = left.slice(0, MOST_NAMED).map(({ pid, command }) => `${pid} (${command})`);
  const more = left.length > MOST_NAMED ? `, and ${left.length - MOST_NAMED} more` : "";
  const how =
    because === "exit" ? "in the background; end them with kill when they are not wanted" : "and could not be ended";
  return `\n[Still running ${how}: ${named.join(", ")}${more}]`;
}

/** What the model is told of a command that ended. */
export function describeEnd({ output, code, because, left }: CommandEnd, timeoutMs: number): string {
  const rest = output.file === undefined ? "" : ` All of it is in ${output.file}.`;
  const cut = output.truncated ? `[This is the end of a longer output.${rest}]\n` : "";
  const ends = {
    exit: `[exit code ${code ?? "none: a signal ended it"}]`,
    timeout: `[ended after ${timeoutMs / 1000} seconds: timeout]`,
    abort: "[aborted]",
  };
  const text = output.text.trimEnd();
  return `${cut}${text === "" ? "[no output]" : text}\n\n${ends[because]}${describeRunning(left, because)}`;
}
