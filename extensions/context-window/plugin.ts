import type { Contributor } from "openclaw/plugin-sdk";

/** Registers the context engine and its settings. The code of both is loaded when it is needed. */
export const contributor: Contributor = {
  id: "context-window",
  register(registry) {
    let maxTokens: number | undefined;
    registry.addConfig({
      schema: async () => (await import("./config.ts")).settings,
      apply(value) {
        maxTokens =
          typeof value === "object" && value !== null && "maxTokens" in value ? Number(value.maxTokens) : undefined;
      },
    });
    registry.addContextEngine("context-window", async () => {
      const { createContextWindow } = await import("./engine.ts");
      return createContextWindow(maxTokens);
    });
  },
};
