import type { Check, CheckResult } from "../../../types/check.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { isInside, realOf } from "../../../utils/real-path.ts";

/** Whether each agent works in a directory of its own: agents that share one read and write each other's files and notes. */
export const workspacesCheck = (agents: readonly AgentSettings[]): Check => ({
  id: "app.workspaces",
  title: "Workspaces",
  run: async () => {
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
