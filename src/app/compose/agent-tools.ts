import { join } from "node:path";
import type { Allowances } from "../../tools/exec/exec.ts";
import type { GuestRules } from "../../tools/files/paths.ts";
import { createTools } from "../../tools/tools.ts";
import type { ApprovalRules, Journal, ReceivedFiles } from "../../types/journal.ts";
import { hasOwnerRights, OPERATOR, type Acting } from "../../types/run/principal.ts";
import type { ChatScene } from "../../types/chat/send.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Tool } from "../../types/run/tool.ts";
import type { Live } from "./live.ts";
import { packageRoot } from "../package-root.ts";

interface ToolParts {
  readonly rules: ApprovalRules;
  readonly received: ReceivedFiles;
  readonly acting: Acting;
  readonly extra?: readonly Tool[];
}

/** The tools of an agent's run; `extra` are those of the run itself. */
function toolsFor(settings: AgentSettings, live: Live, parts: ToolParts): readonly Tool[] {
  const { rules, extra } = parts;
  return createTools({
    settings,
    rights: hasOwnerRights(parts.acting.principal) ? "owner" : guestRules(settings, live, parts),
    rules: allowancesOf(rules, live),
    ...(extra && { extra }),
    deniedPaths: deniedPaths(live),
    readablePaths: readablePaths(live),
  });
}

/** The tools of any run; `ofChat` are those that act in the chat that it answers. */
export function openTools(
  live: Live,
  { approvals: rules, received }: Pick<Journal, "approvals" | "received">,
  ofChat: (agent: AgentSettings, scene?: ChatScene) => readonly Tool[],
) {
  return (agent: AgentSettings, acting: Acting, scene?: ChatScene): readonly Tool[] =>
    toolsFor(agent, live, { rules, received, acting, extra: ofChat(agent, scene) });
}

function guestRules(own: AgentSettings, live: Live, { received, acting }: ToolParts): GuestRules {
  const workspaces = [...new Set([own, ...live.agents].map(({ workspace }) => workspace))];
  return {
    prompts: { workspaces, roots: readablePaths(live) },
    received: { dir: live.paths.media, own: async () => new Set(await received.of(acting.sessionKey)) },
  };
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
