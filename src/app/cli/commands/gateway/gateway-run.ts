import { forgetBoots } from "../../../../store/lock/boots.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { resolvePaths } from "../../../config/paths.ts";
import { drainOutput, outliveReader, type Io } from "../../io.ts";

/** `normal`: not in safe mode. `lastValidConfig`: with the config of the last start that became ready, and not its file. */
type Switch = "force" | "verbose" | "normal" | "lastValidConfig";

export interface GatewayRunFlags extends Readonly<Partial<Record<Switch, boolean>>> {
  readonly port?: number;
  readonly bind?: string;
  readonly token?: string;
  /** The gateway belongs to the program that holds its standard input, and ends with it. */
  readonly endWith?: "stdin";
}

/** Set in the environment of a process that takes the place of one that restarts. */
const RESTARTED = "OPENCLAW_RESTARTED";

/** Runs the gateway until it is stopped, through all restarts. A restart begins again with these arguments of the command line. */
export async function gatewayRun(
  io: Io,
  flags: GatewayRunFlags,
  args: readonly string[] = process.argv.slice(2),
): Promise<number> {
  outliveReader();
  if (flags.normal === true) await forgetBoots(resolvePaths(io.env).stateDir);
  const { runGateway } = await import("../../../gateway/run.ts");
  const { untilSignal } = await import("../../../gateway/lifecycle/signals.ts");
  const { port = portOf(io.env), bind, token, force, verbose, lastValidConfig, endWith } = flags;
  const { doWishedImport, movingIn } = await import("./move-in.ts");
  const options = {
    movingIn: movingIn(io),
    ...(port !== undefined && { port }),
    ...(bind !== undefined && { bind }),
    ...(token !== undefined && { token }),
    ...(verbose !== undefined && { verbose }),
    ...(lastValidConfig === true && { config: "last-valid" as const }),
  };
  let isRestart = process.env[RESTARTED] !== undefined;
  delete process.env[RESTARTED];
  let hasSignal = false;
  // From the beginning, so that a signal during a start also leads to a proper shutdown.
  const signalled = untilSignal(endWith === "stdin").finally(() => (hasSignal = true));
  for (;;) {
    await doWishedImport(io);
    const end = await runGateway(
      { ...options, ...(force === true && !isRestart && { force }) },
      { signalled, isRestart },
    );
    if (end !== "restart") return end;
    await drainOutput();
    if (hasSignal) return 0;
    replaceProcess(args);
    isRestart = true;
  }
}

const PORT_VARIABLE = "OPENCLAW_GATEWAY_PORT";

/** The port of `OPENCLAW_GATEWAY_PORT`, as `18790` or `127.0.0.1:18790`. It overrides `gateway.port`. Throws `USAGE`. */
function portOf(env: Io["env"]): number | undefined {
  const text = env[PORT_VARIABLE]?.trim() ?? "";
  if (text === "") return undefined;
  const [, digits = ""] = /^(?:[^:\s]+:)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== "" && port > 0 && port <= 65_535) return port;
  throw new OpenClawError("USAGE", {
    message: `${PORT_VARIABLE} is no port: ${JSON.stringify(text)}.`,
    fix: `Set it to a number from 1 to 65535, or take it out of the environment: gateway.port of the config then counts.`,
  });
}

/**
 * The program begins again in the same process id, with the code that is installed now: of the gateway and of plugins. Returns where
 * a process cannot be replaced, or where that would cut the channel to the one that started it.
 */
function replaceProcess(args: readonly string[]): void {
  if (typeof process.execve !== "function" || process.channel) return;
  const argv = [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2), ...args];
  try {
    process.execve(process.execPath, argv, { ...process.env, [RESTARTED]: "1" });
  } catch {
    // Windows, or a permission that this process has not: the gateway begins again in this process.
  }
}
