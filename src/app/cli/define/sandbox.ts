import type { Command } from "commander";
import type { ExplainFlags, RecreateFlags } from "../commands/sandbox/sandbox.ts";
import { unasked, type Act } from "./act.ts";

/** `sandbox …` */
export function defineSandbox(program: Command, act: Act): void {
  const sandbox = program.command("sandbox").description("where agents' commands and file tools work");
  sandbox
    .command("explain")
    .description("say whether a session is in a sandbox, what it sees, and which keys decide")
    .option("--agent <id>", "this agent instead of the default one")
    .option("--session <key>", "this session instead of the operator's own")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: ExplainFlags) =>
        (await import("../commands/sandbox/sandbox.ts")).sandboxExplain(io, options),
      ),
    );
  sandbox
    .command("list")
    .description("list the folders that sandboxes have of their own")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { json?: boolean }) =>
        (await import("../commands/sandbox/sandbox.ts")).sandboxList(io, options),
      ),
    );
  unasked(sandbox.command("recreate"))
    .description("remove folders of sandboxes; the next command begins with an empty one")
    .option("--all", "every folder")
    .option("--agent <id>", "those of this agent")
    .option("--session <key>", "that of this session")
    .action(
      act(async (io, options: RecreateFlags) =>
        (await import("../commands/sandbox/sandbox.ts")).sandboxRecreate(io, options),
      ),
    );
}
