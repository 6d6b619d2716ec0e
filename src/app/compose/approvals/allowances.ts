import { join } from "node:path";
import { editApprovals } from "../../../store/exec-approvals-edit.ts";
import { ApprovalUses, type BlockUse } from "../../../store/exec-approvals-uses.ts";
import { ExecApprovalsFile } from "../../../store/exec-approvals.ts";
import type { Allowance } from "../../../tools/exec/rules/exec-allowance.ts";
import type { Grant } from "../../../tools/exec/exec-policy.ts";
import type { Allowances } from "../../../tools/exec/permission.ts";
import { commandPattern, execRowOf, rowsForCommand } from "../../../tools/exec/rules/command-rows.ts";
import { EXEC_APPROVALS_FILE, type ExecRow } from "../../../tools/exec/rules/document.ts";
import { addedRow, withRows } from "../../../tools/exec/rules/edit-rows.ts";
import { blocksFor } from "../../../tools/exec/rules/policy.ts";
import type { Clock } from "../../../types/clock.ts";
import type { Log } from "../../../types/log.ts";
import { OPERATOR } from "../../../types/run/principal.ts";
import type { Approval } from "../../../types/run/tool.ts";
import type { Live } from "../../live.ts";

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
}

/** The permanent allowances: the rules with which commands are compared, and the record of new answers. */
export interface OpenAllowances {
  readonly rules: Allowances;
  /** Adds a row for a command that its `by` allowed permanently. Rejects when the file cannot be used or written. */
  remember(approval: Approval, by: string): Promise<void>;
  /** Writes the uses that are not in the file yet. Never rejects. */
  close(): Promise<void>;
}

/** Opens `exec-approvals.json` of the state directory. An allowance ends when its giver is no longer an owner. */
export function openAllowances(live: Live, { clock, log }: Ports): OpenAllowances {
  const path = join(live.paths.stateDir, EXEC_APPROVALS_FILE);
  const file = new ExecApprovalsFile(path);
  const uses = new ApprovalUses(path, clock, log);
  const isGiven = (row: ExecRow) => isOwnerStill(row.givenBy ?? OPERATOR.id, live);
  return {
    rules: {
      policy: async (agent) => (isOffNow(agent, live) ? { ...file.policy(agent), ...OFF } : file.policy(agent)),
      isAllowed: async (agent, allowance) => rowsAt(file, agent, allowance).some(isGiven),
      used: (agent, grants, cwd) => uses.note(usesOf(grants, { agent, file, at: clock.now(), cwd })),
    },
    async remember({ agentId, command, cwd, allowance }, by) {
      if (allowance === undefined) return;
      const row = execRowOf({ command, cwd, key: allowance, by, at: clock.now() });
      await editApprovals(path, (document) => withRows(document, agentId, addedRow(row)));
    },
    close: () => uses.flush(),
  };
}

const OFF = { security: "deny", isOffInConfig: true } as const;

/**
 * Whether the current config switches an agent's commands off. A run keeps the settings that it began with, but not
 * against this one.
 */
const isOffNow = (agent: string, { agents }: Live): boolean =>
  agents.find(({ id }) => id === agent)?.exec.security === "deny";

const rowsAt = (file: ExecApprovalsFile, agent: string, allowance: Allowance): readonly ExecRow[] =>
  rowsForCommand(
    file.policy(agent).rows.map(({ row }) => row),
    allowance,
  );

interface UseScene {
  readonly agent: string;
  readonly file: ExecApprovalsFile;
  readonly at: number;
  readonly cwd: string;
}

/** Each grant is noted at the rows of every block that has them: the policy does not say which block a row is from. */
function usesOf(grants: readonly Grant[], { agent, file, at, cwd }: UseScene): readonly BlockUse[] {
  const { rows } = file.policy(agent);
  const rowsOf = ({ row, text }: Grant): readonly ExecRow[] => {
    if (row) return [row];
    const pattern = commandPattern(text);
    return rows.flatMap((one) => (one.row.pattern === pattern && (one.row.cwd ?? cwd) === cwd ? [one.row] : []));
  };
  return grants.flatMap((grant) =>
    rowsOf(grant).flatMap(({ pattern, argPattern, binding }) =>
      blocksFor(agent).map((block) => ({
        block,
        use: {
          pattern,
          argPattern,
          binding,
          lastUsedAt: at,
          lastUsedCommand: grant.text,
          ...(grant.program && { lastResolvedPath: grant.program.real }),
        },
      })),
    ),
  );
}

function isOwnerStill(name: string, { config }: Live): boolean {
  const owners = new Set(config.commands.ownerAllowFrom.map(String));
  return name === OPERATOR.id || owners.has(name) || owners.has(name.slice(name.indexOf(":") + 1));
}
