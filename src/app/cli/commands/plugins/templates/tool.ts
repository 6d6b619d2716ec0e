import type { Template } from "./template.ts";

const toolOf = (id: string): string => id.replaceAll("-", "_");

/** A tool that counts words. */
export const tool: Template = {
  kind: "tool",
  about: () => "A tool with which agents count the words of a text.",
  manifest: ({ id }) => ({ contracts: { tools: [toolOf(id)] } }),
  entry: ({ id }) => `export default {
  id: ${JSON.stringify(id)},
  register(api) {
    // openclaw.plugin.json has to list the name in contracts.tools.
    api.registerTool({
      name: ${JSON.stringify(toolOf(id))},
      label: "Count words",
      // For the model: what the tool does and when to call it.
      description: "Counts the words of a text. Use it instead of counting yourself.",
      parameters: {
        type: "object",
        additionalProperties: false,
        properties: { text: { type: "string", description: "The text." } },
        required: ["text"],
      },
      // The input has been checked against the parameters. An error that is thrown is what the model reads.
      async execute(callId, { text }) {
        const count = text.split(/\\s+/).filter(Boolean).length;
        return { content: [{ type: "text", text: \`\${count} words\` }], details: { count } };
      },
    });
  },
};
`,
  test: ({ id }) => `import { openTestPlugin, pluginContract } from "openclaw/plugin-sdk/testing";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

pluginContract({ afterEach, describe, expect, test }, { name: ${JSON.stringify(id)}, root });

test("counts words, and refuses an input without a text", async () => {
  const plugin = await openTestPlugin({ root });
  const result = await plugin.runTool(${JSON.stringify(toolOf(id))}, { text: " one two\\nthree " });
  expect(result.content).toEqual([{ type: "text", text: "3 words" }]);
  await expect(plugin.runTool(${JSON.stringify(toolOf(id))}, {})).rejects.toThrow();
  await plugin.close();
});
`,
  enable: () => [],
};
