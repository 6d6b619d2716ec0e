import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { COMPILED } from "./test/kit/gateway/compiled.ts";

const NO_PROGRAM = "/nonexistent/bwrap";
const conditions = ["source", "node", "import", "module", "default"];

/** Of each promise one walk through the built gateway: what `npm test` runs beside the modules. */
const smoke = [
  "test/walk/approval.test.ts",
  "test/walk/cli.test.ts",
  "test/walk/commands.test.ts",
  "test/walk/compaction.test.ts",
  "test/walk/cron/loop.test.ts",
  "test/walk/pairing.test.ts",
  "test/walk/plugins/restart.test.ts",
  "test/walk/process.test.ts",
  "test/walk/sessions/spawn.test.ts",
  "test/walk/telegram.test.ts",
  "test/walk/web.test.ts",
];
/** Suites that start programs, above all the built gateway. */
const programs = ["test/{package,page,peers,walk,walk-page}/**/*.test.ts"];
/** Suites of modules that take long: a real browser, real programs, whole tables, many rounds, minutes of another's protocol. */
const rounds = [
  "extensions/discord/test/session.test.ts",
  "extensions/memory-core/test/hostile.test.ts",
  "extensions/memory-core/test/vectors.test.ts",
  "extensions/signal/test/handover.test.ts",
  "extensions/signal/test/own.test.ts",
  "extensions/slack/test/slack.test.ts",
  "extensions/slack/test/stream-walk.test.ts",
  "extensions/slack/test/written.test.ts",
  "extensions/telegram/test/split-messages.test.ts",
  "extensions/whatsapp/test/contract.test.ts",
  "extensions/whatsapp/test/lasting.test.ts",
  "extensions/whatsapp/test/login.test.ts",
  "extensions/whatsapp/test/whatsapp.test.ts",
  "test/app/cli/gateway.test.ts",
  "test/app/cli/models.test.ts",
  "test/app/cli/plugins.test.ts",
  "test/app/cli/program.test.ts",
  "test/app/gateway/methods/answers.test.ts",
  "test/automation/cron/year.test.ts",
  "test/automation/search.test.ts",
  "test/browser/browser.test.ts",
  "test/browser/options.test.ts",
  "test/browser/surprises.test.ts",
  "test/contracts/tool/tools.test.ts",
  "test/dispatch/answer/shown.test.ts",
  "test/dispatch/answer/silent.test.ts",
  "test/dispatch/every-message.test.ts",
  "test/harness/ask-aside.test.ts",
  "test/harness/compaction/before-answer.test.ts",
  "test/harness/compaction/compact.test.ts",
  "test/harness/compaction/soak.test.ts",
  "test/harness/failover/alternating.test.ts",
  "test/harness/failover/other-sessions.test.ts",
  "test/harness/loop-guard.test.ts",
  "test/harness/wire/odd-answers.test.ts",
  "test/harness/wire/old-thinking.test.ts",
  "test/harness/wire/wire.test.ts",
  "test/history/engines/hostile.test.ts",
  "test/history/odd-transcripts.test.ts",
  "test/history/quirks.test.ts",
  "test/history/replay.test.ts",
  "test/history/requests.test.ts",
  "test/mcp/hostile.test.ts",
  "test/mcp/http.test.ts",
  "test/outbox/render.test.ts",
  "test/plugins/hostile.test.ts",
  "test/plugins/install/archive.test.ts",
  "test/plugins/install/git.test.ts",
  "test/plugins/install/npm.test.ts",
  "test/plugins/typescript.test.ts",
  "test/providers/budget/ledger.test.ts",
  "test/providers/call/body/sent-before.test.ts",
  "test/providers/call/complete.test.ts",
  "test/providers/mistral.test.ts",
  "test/providers/refusals/own-process.test.ts",
  "test/reply/block-chunker.test.ts",
  "test/reply/cost.test.ts",
  "test/security/approvals-binding.test.ts",
  "test/security/canaries.test.ts",
  "test/security/config-fuzz.test.ts",
  "test/security/cross-site.test.ts",
  "test/security/guest-notes.test.ts",
  "test/security/tool-files.test.ts",
  "test/security/two-principals.test.ts",
  "test/sessions/damage.test.ts",
  "test/store/wal.test.ts",
  "test/tools/exec/git-steering.test.ts",
  "test/tools/media/pdf.test.ts",
  "test/tools/process.test.ts",
  "test/tools/sandbox/escape.test.ts",
  "test/tools/sandbox/guest-copy.test.ts",
  "test/tools/sandbox/left-for-git.test.ts",
  "test/tools/sandbox/rights.test.ts",
  "test/tools/sandbox/totals.test.ts",
  "test/tools/web-page/hidden.test.ts",
];
/** Suites that prove by many kills, faults and rounds. */
const faults = [
  "test/faults/**/*.test.ts",
  "extensions/*/test/kill.test.ts",
  "test/harness/wire/wire-fallback.test.ts",
  "test/security/{page-answers,provider-bomb}.test.ts",
];

const missing = [...smoke, ...rounds].filter((file) => !existsSync(file));
if (missing.length > 0) throw new Error(`vitest.config.ts names files that are not there: ${missing.join(", ")}`);

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    pool: "forks",
    // One more than the processors of a small machine: tests wait for programs, for the disk and for time.
    maxWorkers: 3,
    // They end a test that hangs, and must not end one on a machine that has other work to do.
    testTimeout: 180_000,
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
          exclude: [...programs, ...rounds, ...faults],
          setupFiles: ["test/process-state.ts"],
          // A worker imports a module once, not once per file: no module keeps state (AGENTS.md).
          isolate: false,
        },
      },
      { extends: true, test: { name: "smoke", include: smoke } },
      {
        extends: true,
        test: { name: "rounds", include: rounds, isolate: false, setupFiles: ["test/process-state.ts"] },
      },
      { extends: true, test: { name: "walk", include: programs, exclude: smoke } },
      { extends: true, test: { name: "faults", include: faults } },
    ],
  },
});
