import { Option, type Command } from "commander";
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
    .addOption(new Option("--allow-unconfigured", "no effect: no config is needed").hideHelp())
    .action(
      act(async (io, options: RunFlags) =>
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
        (await import("../commands/gateway/gateway-instance.ts")).gatewayInstance(io, options),
      ),
    );
  gateway
    .command("stop")
    .description("stop the gateway in order: runs may finish, nothing is lost")
    .action(act(async (io) => (await import("../commands/gateway/gateway-stop.ts")).gatewayStop(io)));
}

interface RunFlags {
  readonly port?: number;
  readonly bind?: string;
  readonly token?: string;
  readonly force?: boolean;
  readonly verbose?: boolean;
}
