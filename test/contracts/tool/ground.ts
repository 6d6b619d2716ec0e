import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { runTool } from "../../../src/tools/run.ts";
import type { Processes } from "../../../src/tools/process/processes.ts";
import type { AgentSettings } from "../../../src/types/settings.ts";
import type { ToolResult } from "../../../src/types/run/tool.ts";
import { createTools } from "../../kit/create-tools.ts";
import { MEDIA, mediaContributions } from "./media-kit.ts";
import { moreContributions } from "./more-kit.ts";
import { sessionToolsKit } from "./session-kit.ts";
import { webContributions } from "./web-kit.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";

/** What no tool may show or change. */
export const OUTSIDE = "content outside of the workspace";

export interface Ground {
  /** Holds the workspace `work`, and `outside` with a file `secret.txt`. */
  readonly root: string;
  readonly workspace: string;
  put(name: string, content: string | Uint8Array): void;
  get(name: string): string;
  call(name: string, input: unknown, more?: CallOptions): Promise<ToolResult>;
  /** The text of the result. */
  said(name: string, input: unknown, more?: CallOptions): Promise<string>;
  close(): void;
}

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly tools?: Partial<AgentSettings["tools"]>;
  readonly exec?: Partial<AgentSettings["exec"]>;
  readonly processes?: Processes;
  readonly mostChars?: number;
}

/** A workspace on this machine, and the built-in tools that are confined to it. */
export function openGround(): Ground {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tool-contract-")));
  const workspace = join(root, "work");
  for (const dir of [workspace, join(root, "outside")]) mkdirSync(dir);
  writeFileSync(join(root, "outside", "secret.txt"), OUTSIDE);
  const ground: Ground = {
    root,
    workspace,
    put(name, content) {
      mkdirSync(dirname(join(workspace, name)), { recursive: true });
      writeFileSync(join(workspace, name), content);
    },
    get: (name) => readFileSync(join(workspace, name), "utf8"),
    async call(name, input, { signal, tools, exec, processes, mostChars } = {}) {
      const settings = {
        ...agentSettings(workspace, { ...(tools && { tools }), ...(exec && { exec }) }),
        media: MEDIA,
      };
      const own = [
        ...sessionToolsKit().contributions,
        ...mediaContributions(),
        ...webContributions(),
        ...moreContributions(),
      ];
      const made = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [], processes, own });
      const tool = made.find((one) => one.name === name);
      if (!tool) return expect.fail(`there is no tool ${name}`);
      const context = toolContext(workspace, { ...(signal && { signal }), answer: "deny" });
      return runTool(tool, input, { ...context, mostChars });
    },
    said: async (name, input, more) => textOf(await ground.call(name, input, more)),
    close: () => rmSync(root, { recursive: true, force: true }),
  };
  return ground;
}
