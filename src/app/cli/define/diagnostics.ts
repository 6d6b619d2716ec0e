import { Option, type Command } from "commander";
import type { DoctorFlags } from "../commands/gateway/doctor.ts";
import type { LogFlags } from "../commands/logs/logs.ts";
import type { StatusFlags } from "../commands/gateway/status.ts";
import { listOf, wholeNumber, type Act } from "./act.ts";
import { defineMemory } from "./memory.ts";
import { definePolicy } from "./policy.ts";

/** The commands that show the gateway's state: status, health, doctor, logs, dashboard, policy, approvals, memory. */
export function defineDiagnostics(program: Command, act: Act): void {
  definePolicy(program, act);
  defineMemory(program, act);
  program
    .command("status")
    .description("show the gateway, its config, model, channels and sessions")
    .option("--json", "for scripts")
    .option("--all", "also recent sessions")
    .option("--deep", "also ask every channel")
    .option("--usage", "also what is left of the providers' limits")
    .option("--timeout <ms>", "how long to wait for the gateway", wholeNumber(1))
    .option("--verbose", "show where an error came from")
    .action(
      act(async (io, options: StatusFlags) => (await import("../commands/gateway/status.ts")).status(io, options)),
    );
  program
    .command("health")
    .description("ask the running gateway how it is")
    .option("--json", "for scripts")
    .option("--timeout <ms>", "how long to wait for the gateway", wholeNumber(1))
    .option("--verbose", "show where an error came from")
    .action(
      act(async (io, options: { json?: boolean; timeout?: number }) => {
        const { health } = await import("../commands/gateway/health.ts");
        return health(io, options);
      }),
    );
  defineDoctor(program, act);
  defineLogs(program, act);
  program
    .command("dashboard")
    .description("print the chat page's address, and open it on a desktop")
    .option("--no-open", "only print the address")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { open: boolean; json?: boolean }) => {
        const { dashboard } = await import("../commands/gateway/dashboard.ts");
        return dashboard(io, options);
      }),
    );
}

function defineDoctor(program: Command, act: Act): void {
  program
    .command("doctor")
    .description("find problems, say how to mend them, and repair them with --fix")
    .option("--json", "for scripts")
    .option("--fix", "mend what can be mended; each change is shown and asked first")
    .addOption(new Option("--repair", "same as --fix").hideHelp())
    .option("--yes", "with --fix: do not ask")
    .option("--non-interactive", "never ask")
    .option("--only <id>", "only these checks: `app.config`, or a module such as `store`", listOf)
    .option("--skip <id>", "skip these checks", listOf)
    .action(
      act(async (io, options: DoctorFlags) => (await import("../commands/gateway/doctor.ts")).doctor(io, options)),
    );
}

function defineLogs(program: Command, act: Act): void {
  program
    .command("logs")
    .description("show the gateway's log")
    .option("-f, --follow", "keep printing new lines")
    .option("--json", "the lines as they are in the file")
    .option("-n, --limit <count>", "number of lines from the end", wholeNumber(0, 1_000_000), 200)
    .option("--interval <ms>", "with --follow: how often to look", wholeNumber(20, 60_000), 500)
    .option("--plain", "no colours")
    .addOption(new Option("--local-time", "no effect: times are local").hideHelp())
    .action(act(async (io, options: LogFlags) => (await import("../commands/logs/logs.ts")).logs(io, options)));
}
