import { join } from "node:path";
import {
  appendChange,
  hasUntrusted,
  lineHashes,
  type NoteRecord,
  type Origin,
} from "../../../../extensions/memory-core/changes.ts";
import type { AgentId } from "../../../types/ids.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import type { NoteChange, NoteChanges } from "../../../types/memory/note-change.ts";
import { hasOwnerRights, type Principal } from "../../../types/run/principal.ts";
import { sourcesText, untrustedMarkOf } from "../../../types/run/untrusted.ts";
import type { Sessions } from "../../../types/session.ts";
import type { Live } from "../../live.ts";

interface Sources {
  readonly sessions: Pick<Sessions, "peek">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Log, "error">;
}

/**
 * Records in `state/memory`, by agent, which conversation wrote which lines of the notes, and the origin of its
 * content. Failures are logged.
 */
export function openNoteChanges({ paths }: Pick<Live, "paths">, { sessions, clock, log }: Sources): NoteChanges {
  const fileOf = (agent: AgentId) => join(paths.stateSub, "memory", `${encodeURIComponent(agent)}.changes.jsonl`);
  // Notes whose changes by such conversations could not be recorded. The next start forgets them.
  const unrecorded = new Set<string>();
  const recordOf = (change: NoteChange): NoteRecord => {
    const { path, tool, sessionKey: session, runId: run, callId: call, principal, lines } = change;
    const mark = untrustedMarkOf(sessions.peek(session)?.untrustedContent);
    const sources = [...change.sources, ...(mark?.sources ?? [])];
    const distinct = [...new Map(sources.map((one) => [`${one.tool} ${one.source}`, one])).values()];
    return {
      at: new Date(clock.now()).toISOString(),
      path,
      tool,
      session,
      run,
      call,
      by: `${principal.kind} ${principal.id}`,
      origin: distinct.length > 0 ? "untrusted" : originOf(principal),
      ...(distinct.length > 0 && { sources: sourcesText(distinct) }),
      ...(lines && { added: lineHashes(lines.added), removed: lineHashes(lines.removed) }),
    };
  };
  return {
    async record(change) {
      const record = recordOf(change);
      try {
        await appendChange(fileOf(change.agentId), record);
      } catch (error) {
        if (record.origin === "untrusted") unrecorded.add(nameOf(change));
        log.error("the origin of a note is not kept", { note: change.path, error });
      }
    },
    async isUntrusted({ agentId, path, text }) {
      if (unrecorded.has(nameOf({ agentId, path }))) return true;
      try {
        return await hasUntrusted(fileOf(agentId), { path, text });
      } catch (error) {
        log.error("the origin of a note cannot be read, so it counts as untrusted", { note: path, error });
        return true;
      }
    },
  };
}

const nameOf = ({ agentId, path }: Pick<NoteChange, "agentId" | "path">): string => `${agentId} ${path}`;

function originOf(principal: Principal): Origin {
  if (principal.kind === "automation" || principal.kind === "plugin") return principal.kind;
  return hasOwnerRights(principal) ? "owner" : "guest";
}
