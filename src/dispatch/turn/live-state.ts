import type { Run } from "../../harness/run.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { Approval } from "../../types/run/tool.ts";

interface Live {
  readonly approvals: readonly Approval[];
  readonly runs: readonly Pick<Run, "stream">[];
  /** The session that asked for the subagent of a session; undefined for other sessions. */
  spawnerOf?(key: SessionKey): string | undefined;
}

/**
 * The current state outside the transcript of a session, one line each; a summary cannot contain it. Commands of the
 * session and of its subagents that wait for an approval, and running subagents.
 */
export function liveLines(key: SessionKey, { approvals, runs, spawnerOf }: Live): readonly string[] {
  const isBelow = (other: SessionKey) => other.startsWith(`${key}::`) || spawnerOf?.(other) === key;
  const asked = approvals
    .filter(({ sessionKey: of }) => of === key || (of !== undefined && isBelow(of)))
    .map(({ id, command }) => `Waits for an owner's answer (${id}): ${oneLine(command)}`);
  const below = runs
    .map(({ stream }) => stream.facts)
    .filter(({ sessionKey }) => isBelow(sessionKey))
    .map(({ sessionKey, runId }) => `Still at work: subagent ${nameBelow(key, sessionKey)} (run ${runId})`);
  return [...asked, ...below];
}

const nameBelow = (key: SessionKey, other: SessionKey): string =>
  other.startsWith(`${key}::`) ? other.slice(key.length + 2) : other;

const MOST_CHARS = 200;

function oneLine(command: string): string {
  const line = command.replaceAll(/\s+/g, " ").trim();
  return line.length <= MOST_CHARS ? line : `${line.slice(0, MOST_CHARS).toWellFormed()}…`;
}
