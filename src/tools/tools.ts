import { join } from "node:path";
import type { AgentSettings } from "../types/settings.ts";
import type { Tool } from "../types/run/tool.ts";
import { editTool } from "./files/edit.ts";
import { execTool, type Allowances } from "./exec/exec.ts";
import { findTool } from "./files/find.ts";
import { grepTool } from "./files/grep.ts";
import { lsTool } from "./files/ls.ts";
import { FileAccess, type GuestRules } from "./files/paths.ts";
import { isToolAllowed } from "./policy.ts";
import { readTool } from "./files/read.ts";
import { writeTool } from "./files/write.ts";

export interface ToolOptions {
  readonly settings: Pick<AgentSettings, "workspace" | "tools" | "exec">;
  readonly rules: Allowances;
  /** What the turn may do by whom it acts for: an owner, or somebody for whom this is closed. */
  readonly rights: "owner" | GuestRules;
  /** Absolute paths of the gateway's own that no file tool may touch. */
  readonly deniedPaths: readonly string[];
  /** Absolute directories outside the workspace that may be read: received media, skills, docs. */
  readonly readablePaths?: readonly string[];
  /** Where long command outputs are kept; a hidden directory of the workspace when unset. */
  readonly outputDir?: string;
  /** Tools of the gateway and of plugins. One with the name of a built-in tool is left out. */
  readonly extra?: readonly Tool[];
}

/** The tools that an agent has: built-in ones and `extra`, as its policy allows. */
export function createTools(options: ToolOptions): Tool[] {
  const { settings, rules } = options;
  const outputDir = options.outputDir ?? join(settings.workspace, ".openclaw", "output");
  const shared = {
    denied: options.deniedPaths,
    readable: [...(options.readablePaths ?? []), outputDir],
    ...(options.rights !== "owner" && { guest: options.rights }),
  };
  const access = new FileAccess({ ...shared, workspaceOnly: settings.tools.workspaceOnly });
  const anywhere = new FileAccess({ ...shared, workspaceOnly: false });
  const builtIn = [
    readTool(access),
    writeTool(access),
    editTool(access),
    grepTool(access),
    findTool(access),
    lsTool(access),
    execTool({
      settings: settings.exec,
      rules,
      access: anywhere,
      outputDir,
      hasOwnerRights: options.rights === "owner",
    }),
  ];
  const names = new Set(builtIn.map((tool) => tool.name));
  const extra = (options.extra ?? []).filter((tool) => !names.has(tool.name));
  return [...builtIn, ...extra].filter((tool) => isToolAllowed(tool.name, settings.tools));
}
