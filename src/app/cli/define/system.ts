import { Option, type Command } from "commander";
import type { EventFlags } from "../commands/gateway/system.ts";
import type { Act } from "./act.ts";
import { defineCron } from "./cron.ts";
import { defineHooks } from "./hooks.ts";

interface Json {
  readonly json?: boolean;
}

/** The commands about what agents do unasked: scheduled jobs, hooks, heartbeats and system events. */
export function defineSystem(program: Command, act: Act): void {
  defineCron(program, act);
  defineHooks(program, act);
  const system = program.command("system").description("heartbeats and system events for agents");
  const heartbeat = system.command("heartbeat").description("heartbeats of agents and their results");
  heartbeat
    .command("last", { isDefault: true })
    .description("show the last heartbeat of each agent (the default)")
    .option("--json", "for scripts")
    .action(act(async (io, flags: Json) => (await import("../commands/gateway/system.ts")).heartbeatLast(io, flags)));
  for (const [name, enabled] of [["enable", true] as const, ["disable", false] as const]) {
    heartbeat
      .command(name)
      .description(`switch heartbeats ${enabled ? "on" : "off"} until the gateway's next start`)
      .option("--json", "for scripts")
      .action(
        act(async (io, flags: Json) =>
          (await import("../commands/gateway/system.ts")).heartbeatSwitch(io, enabled, flags),
        ),
      );
  }
  heartbeat
    .command("now")
    .description("wake an agent now, even outside its hours and with an empty list")
    .option("--agent <id>", "which agent; the default one unless given")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: Json & { agent?: string }) =>
        (await import("../commands/gateway/system.ts")).heartbeatNow(io, flags),
      ),
    );
  system
    .command("event")
    .description("give an agent a system event")
    .requiredOption("--text <text>", "what happened")
    .addOption(
      new Option("--mode <mode>", "wake the agent now, or wait for its next turn")
        .choices(["now", "next-heartbeat"])
        .default("next-heartbeat"),
    )
    .option("--agent <id>", "which agent; the default one unless given")
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: EventFlags) => (await import("../commands/gateway/system.ts")).systemEvent(io, flags)),
    );
}
