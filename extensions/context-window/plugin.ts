import type { Contributor } from "openclaw/plugin-sdk";
import { z } from "zod";

const settings = z.strictObject({ maxTokens: z.int().positive().optional() });

/** Registers the context engine and its settings. The engine's code is loaded for the first run that uses it. */
export const contributor: Contributor = {
  id: "context-window",
  register(registry) {
    let maxTokens: number | undefined;
    registry.addConfig({
      schema: settings,
      apply(value) {
        ({ maxTokens } = settings.parse(value));
      },
    });
    registry.addContextEngine("context-window", async () => {
      const { createContextWindow } = await import("./engine.ts");
      return createContextWindow(maxTokens);
    });
  },
};
