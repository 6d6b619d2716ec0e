import type { Template } from "./template.ts";

/** Hooks that add a line to the system prompt and log how long each run took. */
export const hook: Template = {
  kind: "hook",
  about: () => "Adds a line to the system prompt, and logs how long each run took.",
  manifest: () => ({
    configSchema: { type: "object", additionalProperties: false, properties: { line: { type: "string" } } },
  }),
  entry: ({ id }) => `export default {
  id: ${JSON.stringify(id)},
  register(api) {
    const { line = "Answer in one sentence." } = api.pluginConfig;

    // Called before each run. What it returns is added to the prompt.
    api.on("before_prompt_build", () => ({ appendSystemContext: line }));

    // Called after each run, which does not wait for it.
    api.on("agent_end", ({ success, durationMs }, { agentId }) => {
      api.logger.info(\`the run of \${agentId} \${success ? "ended" : "failed"} after \${durationMs} ms\`);
    });
  },
};
`,
  test: ({ id }) => `import { openTestPlugin, pluginContract } from "openclaw/plugin-sdk/testing";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

pluginContract({ afterEach, describe, expect, test }, { name: ${JSON.stringify(id)}, root });

test("adds the line of its settings to the system prompt", async () => {
  const plugin = await openTestPlugin({ root, config: { line: "Be kind." } });
  const answers = await plugin.callHook("before_prompt_build", { prompt: "hello", messages: [] });
  expect(answers).toEqual([{ appendSystemContext: "Be kind." }]);
  await plugin.close();
});
`,
  enable: ({ id }) => [`openclaw config set plugins.entries.${id}.hooks.allowConversationAccess true`],
};
