import { judgeCommand } from "../../../tools/exec.ts";
import { isContained } from "../../../tools/exec/contained.ts";
import type { Grant } from "../../../tools/exec/exec-policy.ts";
import type { CommandVerdict } from "../../../tools/exec/permission.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import { hostExec } from "../../../tools/host/host.ts";
import type { SandboxMachine } from "../../../tools/sandbox/machine.ts";
import type { JudgedCommand } from "../../../types/answers/tools.ts";
import { systemClock } from "../../../types/clock.ts";
import type { ReceivedFiles } from "../../../types/journal.ts";
import type { Log } from "../../../types/log.ts";
import type { SessionExec } from "../../../types/run/exec-wish.ts";
import { hasOwnerRights } from "../../../types/run/principal.ts";
import type { UntrustedSource } from "../../../types/run/untrusted.ts";
import type { ExecRights, Sourced } from "../../../types/session.ts";
import { unlessMissing } from "../../../utils/missing.ts";
import type { Live } from "../../live.ts";
import { openBackends } from "../agent-tools.ts";
import { openAllowances } from "../approvals/allowances.ts";
import type { PolicyExplanation } from "./explain.ts";

export interface JudgingParts {
  readonly live: Live;
  readonly machine: SandboxMachine;
  readonly received: Pick<ReceivedFiles, "of">;
  readonly log: Log;
}

/** The run that would give the command. */
export interface CommandAsk {
  readonly text: string;
  readonly explained: PolicyExplanation;
  readonly exec: ExecRights;
  /** Settings of the conversation for its commands. */
  readonly wish: SessionExec;
  /** Untrusted content that the conversation has read. */
  readonly untrusted: readonly UntrustedSource[];
}

type RunAsk = Pick<CommandAsk, "wish" | "untrusted"> & { readonly of: PolicyExplanation["of"] };

/** The agent with the settings of the conversation, and where the commands of the run would be. */
function sceneOf({ of, wish, untrusted }: RunAsk, parts: JudgingParts) {
  const acting = { principal: of.principal, sessionKey: of.sessionKey, exec: wish };
  const { agent, host, backends } = openBackends(parts.live, parts)(of.agent, acting);
  const confirm = agent.tools.confirmUntrusted;
  const counts = confirm === undefined || confirm.includes("commands");
  return { agent, host, exec: backends.exec, untrusted: counts ? untrusted : [] };
}

/** Whether commands that would be asked about run without a question, since a sandbox is their boundary. */
export function isContainedRun(ask: RunAsk, parts: JudgingParts): boolean {
  const { agent, exec, untrusted } = sceneOf(ask, parts);
  return isContained(exec, agent.exec, untrusted);
}

/** What would become of a command of a run. Nothing is run, and nobody is asked. */
export async function judgedCommand(ask: CommandAsk, parts: JudgingParts): Promise<JudgedCommand> {
  const { text, explained, exec } = ask;
  const without = withoutTool(explained);
  if (without) return { text, outcome: "refused", ...without };
  const verdict = await verdictOf(ask, parts);
  return { text, outcome: OUTCOMES[verdict.decision], ...reasonFor(verdict, exec) };
}

const OUTCOMES = { run: "runs", ask: "asks", deny: "refused" } as const;

type Reason = Pick<JudgedCommand, "why" | "key" | "place">;

/** Why the run does not have the tool `exec`; undefined when it has it. */
function withoutTool({ verdicts }: PolicyExplanation): Reason | undefined {
  const removed = verdicts.find(({ tool }) => tool === "exec")?.trace.find(({ answer }) => answer !== "allowed");
  if (!removed) return undefined;
  return {
    why: `The agent does not have the tool exec for this person: the step "${removed.stage}" of the tool policy takes it away.`,
    key: removed.key,
    ...(removed.place !== undefined && { place: removed.place }),
  };
}

async function verdictOf({ text, explained: { of }, wish, untrusted }: CommandAsk, parts: JudgingParts) {
  const { live, log } = parts;
  const scene = sceneOf({ of, wish, untrusted }, parts);
  const { agent, host } = scene;
  const { isIsolated, writesWorkspace = false } = scene.exec;
  // The machine's own backend reads the command: that of a sandbox would make its folder first.
  const onMachine = hostExec(host);
  const backend = {
    ...onMachine,
    // The workspace is made for the first turn.
    directory: async (path: string, workspace: string) =>
      (await unlessMissing(onMachine.directory(path, workspace))) ?? workspace,
    ...(isIsolated && { isIsolated }),
    writesWorkspace,
  };
  return judgeCommand(
    text,
    {
      settings: agent.exec,
      rules: openAllowances(live, { clock: systemClock, log }).rules,
      backend,
      hasOwnerRights: hasOwnerRights(of.principal),
    },
    { agentId: agent.id, workspace: agent.workspace, untrusted: async () => scene.untrusted },
  );
}

function reasonFor(verdict: CommandVerdict, { security, ask }: ExecRights): Reason {
  switch (verdict.by) {
    case "place":
      return { why: `${verdict.why.charAt(0).toUpperCase()}${verdict.why.slice(1)}.` };
    case "security":
      return { why: SECURITY[verdict.decision], ...sourceOf(security) };
    case "sandbox":
      return { why: "It runs in a sandbox that lets nothing out, so nobody is asked." };
    case "ask":
      if (verdict.decision === "ask") return { why: verdict.why, ...sourceOf(ask) };
      return { why: "It is on no list, and nobody is asked about such a command.", ...sourceOf(ask) };
    case "list":
      return verdict.decision === "ask" ? { why: verdict.why, ...sourceOf(security) } : grantedBy(verdict.grants);
  }
}

const SECURITY = { run: "Every command runs.", deny: "Commands are switched off." } as const;

const sourceOf = ({ key, place }: Sourced): Pick<Reason, "key" | "place"> => ({
  ...(key !== undefined && { key }),
  ...(place !== undefined && { place }),
});

function grantedBy(grants: readonly Grant[]): Reason {
  if (grants.length === 0) return { why: "Each of its programs only reads or prints, so nobody is asked." };
  const rules = [...new Set(grants.map(({ row, text }) => (row ? row.pattern : text)))];
  return { why: `It is always allowed: ${rules.join(", ")}.`, key: EXEC_APPROVALS_FILE };
}
