import { defineConfig } from "vitest/config";

const conditions = ["source", "node", "import", "module", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["test/**/*.test.ts", "extensions/**/test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    // They end a test that hangs, and must not end one on a machine that has other work to do.
    testTimeout: 90_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    reporters: ["default"],
    passWithNoTests: true,
  },
});
