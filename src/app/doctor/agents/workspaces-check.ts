import type { Check, CheckResult } from "../../../types/check.ts";
import { hasWorkspace } from "../../../prompt/bootstrap.ts";
import { OpenClawError } from "../../../types/errors.ts";
import type { AgentId } from "../../../types/ids.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";

/**
 * Whether each agent can work in its directory, and in one of its own: agents that share a directory read and write
 * each other's files and notes. `worked` gives the agents that have conversations already.
 */
export const workspacesCheck = (
  agents: readonly AgentSettings[],
  worked: () => Promise<ReadonlySet<AgentId>>,
): Check => ({
  id: "app.workspaces",
  title: "Workspaces",
  run: async () => {
    const bad = (await Promise.all(agents.map((agent) => ofOne(agent, worked)))).flat();
    if (bad.length > 0) return bad;
    const places = await Promise.all(agents.map(async ({ id, workspace }) => ({ id, real: await realOf(workspace) })));
    const found = places.flatMap((one, at) =>
      places.slice(0, at).flatMap((other): CheckResult[] => {
        if (one.real === other.real) return [shared(one.id, other.id, one.real)];
        if (isInside(one.real, other.real)) return [nested(one.id, other.id)];
        return isInside(other.real, one.real) ? [nested(other.id, one.id)] : [];
      }),
    );
    return found.length > 0 ? found : [{ status: "ok", message: `${agents.length}, each of one agent.` }];
  },
});

async function ofOne(
  { id, workspace }: AgentSettings,
  worked: () => Promise<ReadonlySet<AgentId>>,
): Promise<readonly CheckResult[]> {
  try {
    if ((await hasWorkspace(workspace)) || !(await worked()).has(id)) return [];
    return [gone(id, workspace)];
  } catch (error) {
    if (!(error instanceof OpenClawError) || error.code !== "WORKSPACE_UNUSABLE") throw error;
    return [{ status: "fail", message: `${error.message}. The gateway does not start.`, fix: error.fix }];
  }
}

const gone = (agent: string, path: string): CheckResult => ({
  status: "warn",
  message: `The workspace ${path} of "${agent}" is missing: the next start makes one without its files, notes and skills.`,
  fix: "Restore it from a backup, or say in agents.defaults.workspace or agents.list[].workspace where it is now.",
});

const FIX = "Give each a workspace of its own in agents.list[].workspace.";

const shared = (one: string, other: string, path: string): CheckResult => ({
  status: "fail",
  message: `The agents "${other}" and "${one}" share the workspace ${path}: each has the other's files and notes.`,
  fix: FIX,
});

const nested = (inner: string, outer: string): CheckResult => ({
  status: "warn",
  message: `The workspace of "${inner}" lies in that of "${outer}", which reads and writes it.`,
  fix: FIX,
});
