import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { runTool } from "../../src/tools/run.ts";
import { createTools } from "../kit/create-tools.ts";
import { agentSettings, noRules, textOf, toolContext } from "../kit/tools.ts";

const { execPath } = process;
afterEach(() => {
  process.execPath = execPath;
});

it.skipIf(process.platform === "win32")(
  "a command that gets no terminal runs with pipes, and its result says why",
  async () => {
    const workspace = await realpath(await mkdtemp(join(tmpdir(), "no-terminal-")));
    try {
      const settings = agentSettings(workspace);
      const tools = createTools({ settings, rules: noRules, rights: "owner", deniedPaths: [] });
      const exec = tools.find(({ name }) => name === "exec");
      process.execPath = "/bin/false";
      const command = "test -t 1 || echo through pipes";
      const result = await runTool(exec!, { command, pty: true }, toolContext(workspace));
      expect(textOf(result)).toBe(
        "through pipes\n\n[exit code 0]\n[There is no terminal, so it has pipes instead: its process has ended]",
      );
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  },
);
