import { execFile } from "node:child_process";
import type { Log } from "../../../types/log.ts";

/** Tells the service manager that started this process how it is. */
export interface ServiceNotes {
  /** The gateway answers. From now on the manager takes silence for a hang. */
  ready(text: string): void;
  stopping(): void;
  /** The process ends, or begins again and tells by itself. */
  close(): void;
}

const SILENT: ServiceNotes = { ready: () => undefined, stopping: () => undefined, close: () => undefined };

/**
 * The notes for systemd (`Type=notify`, `WatchdogSec`). Node has no datagram sockets of this kind, so `systemd-notify` sends
 * them. Without systemd nothing is sent.
 */
export function serviceNotes(env: NodeJS.ProcessEnv, log: Log): ServiceNotes {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, PATH } = env;
  if (socket === undefined || socket === "") return SILENT;
  // What this process starts must not speak for the gateway.
  delete env["NOTIFY_SOCKET"];
  let beat: NodeJS.Timeout | undefined;
  const tell = (...args: readonly string[]) =>
    execFile("systemd-notify", [...args], { env: { PATH, NOTIFY_SOCKET: socket } }, (error) => {
      if (error) log.warn("systemd was not told", { told: args, error });
    });
  return {
    ready(text) {
      tell("--ready", `--status=${text}`);
      const everyMs = Number(watchdog) / 1000 / 3;
      if (everyMs > 0) beat = setInterval(() => tell("WATCHDOG=1"), everyMs);
    },
    stopping: () => void tell("STOPPING=1", "--status=Runs may finish"),
    close() {
      clearInterval(beat);
      env["NOTIFY_SOCKET"] = socket;
    },
  };
}
