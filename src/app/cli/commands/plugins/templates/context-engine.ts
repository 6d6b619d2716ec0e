import type { Template } from "./template.ts";

/** An engine that shows the newest messages and leaves compaction to the gateway. */
export const contextEngine: Template = {
  kind: "context-engine",
  about: () => "Shows the model the newest turns of a conversation.",
  manifest: () => ({
    kind: "context-engine",
    configSchema: {
      type: "object",
      additionalProperties: false,
      properties: { turns: { type: "integer", minimum: 1 } },
    },
  }),
  entry: ({ id }) => `import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core";

/** Shows the newest \`turns\` turns, each with its tool calls and their results. */
export function createEngine({ turns = 20 } = {}) {
  return {
    info: { id: ${JSON.stringify(id)}, name: ${JSON.stringify(id)}, version: "0.1.0", ownsCompaction: false },

    // The gateway has every message in its transcript. An engine with a store of its own adds the message there.
    async ingest() {
      return { ingested: false };
    },

    // Called before the model. The messages are copies; the last turn is the one that the model answers.
    async assemble({ messages }) {
      const starts = messages.flatMap(({ role }, at) => (role === "user" && messages[at - 1]?.role !== "user" ? [at] : []));
      const first = starts.at(-turns) ?? 0;
      const shown = messages.slice(first);
      return {
        messages: shown,
        estimatedTokens: Math.ceil(JSON.stringify(shown).length / 4),
        ...(first > 0 && { systemPromptAddition: \`\${first} earlier messages are not shown.\` }),
      };
    },

    // Called for /compact, and when a request was too long for the model.
    compact: (params) => delegateCompactionToRuntime(params),
  };
}

export default {
  id: ${JSON.stringify(id)},
  register(api) {
    api.registerContextEngine(${JSON.stringify(id)}, () => createEngine(api.pluginConfig));
  },
};
`,
  test: ({ id }) => `import { contextEngineContract, pluginContract } from "openclaw/plugin-sdk/testing";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createEngine } from "../index.js";

const vitest = { afterEach, describe, expect, test };
const root = join(import.meta.dirname, "..");

pluginContract(vitest, { name: ${JSON.stringify(id)}, root });
contextEngineContract(vitest, { name: ${JSON.stringify(id)}, open: () => createEngine() });

test("shows the newest turns, and says how many messages it leaves out", async () => {
  const messages = ["one", "two", "three"].flatMap((content) => [
    { role: "user", content },
    { role: "assistant", content: [{ type: "text", text: content }] },
  ]);
  const shown = await createEngine({ turns: 2 }).assemble({ messages });
  expect(shown.messages).toEqual(messages.slice(2));
  expect(shown.systemPromptAddition).toBe("2 earlier messages are not shown.");
});
`,
  enable: () => [],
};
