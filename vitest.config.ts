import { defineConfig } from "vitest/config";
import { COMPILED } from "./test/kit/gateway/compiled.ts";

const NO_PROGRAM = "/nonexistent/bwrap";
const conditions = ["source", "node", "import", "module", "default"];

/** Suites that start programs, above all the built gateway. */
const programs = ["test/{package,page,peers,walk,walk-page}/**/*.test.ts"];
/** Suites that prove by many kills, faults and rounds. */
const faults = [
  "test/faults/**/*.test.ts",
  "extensions/*/test/kill.test.ts",
  "test/harness/wire/wire-fallback.test.ts",
  "test/security/{page-answers,provider-bomb}.test.ts",
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    pool: "forks",
    // One more than the processors of a small machine: tests wait for programs, for the disk and for time.
    maxWorkers: 3,
    // They end a test that hangs, and must not end one on a machine that has other work to do.
    testTimeout: 90_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // Tests of the sandbox say so themselves: what others test must not depend on what is installed.
    env: { ...COMPILED, OPENCLAW_BWRAP: NO_PROGRAM },
    globalSetup: ["test/temp-folder.ts"],
    reporters: ["default"],
    passWithNoTests: true,
    // Their packages have TypeScript under the condition `source`, which Node does not run there.
    server: { deps: { inline: [/eventsource(?:-parser)?\//, /@modelcontextprotocol\/sdk\//] } },
    projects: [
      {
        extends: true,
        test: {
          name: "modules",
          include: ["test/**/*.test.ts", "extensions/**/test/**/*.test.ts"],
          exclude: [...programs, ...faults],
          // A worker imports a module once, not once per file: no module keeps state (AGENTS.md).
          isolate: false,
        },
      },
      { extends: true, test: { name: "programs", include: programs } },
      { extends: true, test: { name: "faults", include: faults } },
    ],
  },
});
