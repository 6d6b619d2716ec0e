import { join } from "node:path";
import type { Allowances } from "../tools/exec.ts";
import { createTools } from "../tools/tools.ts";
import type { ApprovalRules } from "../types/journal.ts";
import { OPERATOR, type Acting } from "../types/principal.ts";
import type { AgentSettings } from "../types/settings.ts";
import type { Tool } from "../types/tool.ts";
import type { Live } from "./live.ts";
import { packageRoot } from "./package-root.ts";

interface ToolParts {
  readonly rules: ApprovalRules;
  readonly acting: Acting;
  readonly extra?: readonly Tool[];
}

/** The tools of an agent's run; `extra` are those of the run itself. */
export function toolsFor(settings: AgentSettings, live: Live, { rules, acting, extra }: ToolParts): readonly Tool[] {
  return createTools({
    settings,
    principal: acting.principal,
    rules: allowancesOf(rules, live),
    ...(extra && { extra }),
    deniedPaths: deniedPaths(live),
    readablePaths: readablePaths(live),
  });
}

/** An allowance ends when whoever gave it is no owner any more. Those of older versions do not say who gave them. */
function allowancesOf(rules: ApprovalRules, live: Live): Allowances {
  return {
    async isAllowed(agent, command) {
      const found = await rules.allowance(agent, command);
      return found !== undefined && isOwnerStill(found.givenBy ?? OPERATOR.id, live);
    },
  };
}

function isOwnerStill(name: string, { config }: Live): boolean {
  const owners = new Set(config.commands.ownerAllowFrom.map(String));
  return name === OPERATOR.id || owners.has(name) || owners.has(name.slice(name.indexOf(":") + 1));
}

/** Outside the workspace, what the model is told to look at: received files and skills. */
function readablePaths({ paths, config }: Live): readonly string[] {
  return [
    paths.media,
    paths.skills,
    join(packageRoot, "skills"),
    join(packageRoot, "docs"),
    ...config.skills.load.extraDirs,
  ];
}

/** File tools never touch what the gateway itself lives on. */
export function deniedPaths({ paths }: Live): readonly string[] {
  const { configPath, credentials, stateSub, sessionsDir, logs } = paths;
  return [configPath, `${configPath}.bak`, credentials, stateSub, sessionsDir, logs];
}
