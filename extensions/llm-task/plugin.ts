import type { Contributor, Tool, ToolScene } from "openclaw/plugin-sdk";
import type { llmTask } from "./tool.ts";

type LlmTask = typeof llmTask;

const ID = "llm-task";

/** Registers the tool that gives a model a task of its own. It is on where a list of tools names `llm-task`. */
export const contributor: Contributor = {
  id: ID,
  register(registry) {
    let make: LlmTask | undefined;
    let tool: ((scene: ToolScene) => Tool) | undefined;
    registry.addConfig({
      async schema() {
        // The config is read before any tool is made.
        make = (await import("./tool.ts")).llmTask;
        return (await import("./config.ts")).settings;
      },
      apply(value) {
        tool = make?.(value);
      },
    });
    registry.addTool({ name: ID, namedFor: "all", forRun: (scene) => tool?.(scene) });
  },
};
