import { InvalidArgumentError, Option, type Command } from "commander";
import { defined } from "../../../utils/defined.ts";
import { readDuration } from "../../../utils/time/duration.ts";
import type { GatewayRunFlags } from "../commands/gateway/gateway-run.ts";
import type { InstallFlags } from "../commands/gateway/gateway-service.ts";
import { wholeNumber, type Act } from "./act.ts";

const BINDS = ["loopback", "lan", "auto", "custom", "tailnet"];

export function defineGateway(program: Command, act: Act): void {
  const gateway = program
    .command("gateway")
    .description("run, inspect and stop the gateway")
    .addHelpText("after", "\nThe flags of `openclaw gateway run` work without the word `run` too.");
  gateway
    .command("run", { isDefault: true })
    .description("run the gateway in this terminal (the default)")
    .option("--port <port>", "TCP port, 0 for a free one", wholeNumber(0, 65_535))
    .addOption(new Option("--bind <mode>", "address to listen on").choices(BINDS))
    .option("--force", "first stop the gateway that owns this state directory")
    .option("--token <token>", "token that clients must show")
    .option("--verbose", "log debug lines too")
    .option("--normal", "not in safe mode, whatever the starts before came to")
    .option("--last-valid-config", "with the config of the last start that became ready, not with its file")
    .addOption(new Option("--allow-unconfigured", "no effect: no config is needed").hideHelp())
    .addOption(new Option("--end-with <what>", "end when standard input ends").choices(["stdin"]).hideHelp())
    .action(
      act(async (io, options: GatewayRunFlags) =>
        (await import("../commands/gateway/gateway-run.ts")).gatewayRun(io, options),
      ),
    );
  gateway
    .command("status")
    .description("show whether the gateway runs, where, and since when")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { json?: boolean }) => {
        const { gatewayStatus } = await import("../commands/gateway/gateway-status.ts");
        return gatewayStatus(io, options);
      }),
    );
  gateway
    .command("usage-cost")
    .description("what the models took each day; `openclaw usage` shows more")
    .option("--days <count>", "days until today", wholeNumber(1, 3660), 30)
    .option("--json", "for scripts")
    .action(
      act(async (io, flags: { days: number; json?: boolean }) =>
        (await import("../commands/usage/usage.ts")).showUsage(io, { ...flags, by: "day" }),
      ),
    );
  gateway
    .command("instance")
    .description("the id of this state directory, which its copies share")
    .option("--renew", "first give it another id: a copy that stays beside its original")
    .option("--json", "for scripts")
    .action(
      act(async (io, options: { renew?: boolean; json?: boolean }) =>
        (await import("../commands/gateway/gateway-status.ts")).gatewayInstance(io, options),
      ),
    );
  gateway
    .command("stop")
    .description("stop the gateway in order: runs may finish, nothing is lost")
    .option("--disable", "the service does not start by itself again")
    .addOption(new Option("--force", "no effect: a gateway that does not end in time is killed anyway").hideHelp())
    .action(act(async (io, flags: { disable?: boolean }) => (await service()).serviceStop(io, flags)));
  defineService(gateway, act);
}

const service = () => import("../commands/gateway/gateway-service.ts");

/** `gateway install|start|restart|uninstall` */
function defineService(gateway: Command, act: Act): void {
  gateway
    .command("install")
    .description("run the gateway as a service: now, after a crash, and at each login or start of the machine")
    .option("--port <port>", "TCP port", wholeNumber(1, 65_535))
    .option("--token <token>", "token that clients must show; kept in a file of mode 0600")
    .option("--runtime-path <program>", "Node that runs the gateway")
    .option("--wrapper <program>", "program that is given the gateway's command line")
    .option("--force", "write over a service of another program")
    .addOption(new Option("--runtime <name>", "no effect: Node runs the gateway").choices(["node"]).hideHelp())
    .option("--json", "for scripts")
    .action(act(async (io, flags: InstallFlags) => (await service()).serviceInstall(io, flags)));
  gateway
    .command("start")
    .description("start the service")
    .option("--normal", "not in safe mode, whatever the starts before came to")
    .option("--json", "for scripts")
    .action(act(async (io, flags: { json?: boolean; normal?: boolean }) => (await service()).serviceStart(io, flags)));
  gateway
    .command("restart")
    .description("restart the service; what is unfinished continues afterwards")
    .option("--wait <duration>", "first wait until no run is active, for at most so long", waitOf)
    .option("--safe", "the same as --wait 5m")
    .option("--normal", "not in safe mode, whatever the starts before came to")
    .addOption(new Option("--skip-deferral", "no effect: the default").hideHelp())
    .addOption(new Option("--force", "no effect: the default").hideHelp())
    .option("--json", "for scripts")
    .action(
      act(
        async (
          io,
          { wait, safe, json, normal }: { wait?: number } & Record<"safe" | "json" | "normal", boolean | undefined>,
        ) =>
          (await service()).serviceRestart(io, defined({ json, normal, waitMs: wait ?? (safe ? SAFE_MS : undefined) })),
      ),
    );
  gateway
    .command("uninstall")
    .description("remove the service; the state directory stays")
    .option("--json", "for scripts")
    .action(act(async (io, flags: { json?: boolean }) => (await service()).serviceUninstall(io, flags)));
}

const SAFE_MS = 300_000;

function waitOf(text: string): number {
  const ms = readDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Write it as 30s, 5m or 1h.");
  return ms;
}
