import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OpenClawError } from "../../types/errors.ts";
import {
  SERVICE_MARK,
  must,
  type Ran,
  type ServiceManager,
  type ServicePlan,
  type ServiceScene,
  type ServiceState,
} from "./manager.ts";

/** Seconds after which systemd takes a gateway that gives no sign for hung. */
const WATCHDOG_SECONDS = 120;

/** A user unit of systemd. */
export function systemd({ profile }: Pick<ServicePlan, "profile">, scene: ServiceScene): ServiceManager {
  const name = `openclaw-gateway${profile === undefined ? "" : `-${profile}`}.service`;
  const config = scene.env["XDG_CONFIG_HOME"] ?? join(scene.home, ".config");
  const file = join(config, "systemd", "user", name);
  const logCommand = `journalctl --user -u ${name} -e`;
  const systemctl = (...args: readonly string[]) => scene.run(["systemctl", "--user", ...args]);
  const act = async (...args: readonly string[]) => {
    const ran = await systemctl(...args);
    const unheard = unheardIn(ran, scene);
    if (unheard) throw unheard;
    must(ran, ["systemctl", "--user", ...args], `Look into: ${logCommand}`);
  };
  return {
    name,
    kind: "systemd",
    file,
    logCommand,
    files: (plan) => [{ path: file, mode: 0o600, text: unitOf(plan, name) }],
    async enable() {
      await act("daemon-reload");
      await act("enable", name);
      return lingerNotes(scene);
    },
    async start() {
      // A unit that failed too often is not started again before.
      await systemctl("reset-failed", name);
      await act("start", name);
    },
    stop: () => act("stop", name),
    async restart() {
      await systemctl("reset-failed", name);
      await act("restart", name);
    },
    disable: () => act("disable", name),
    async forget() {
      // What `enable` has made, where `disable` could not be said.
      await rm(join(dirname(file), "default.target.wants", name), { force: true });
      if (unheardIn(await systemctl("show-environment"), scene)) return;
      await act("daemon-reload");
      await systemctl("reset-failed", name);
    },
    async state() {
      const ran = await systemctl("show", name, "--property", PROPERTIES.join(","));
      const unheard = unheardIn(ran, scene);
      if (!unheard) return stateOf(ran.out);
      return { running: false, enabled: false, detail: `systemd cannot be asked here (${ran.out.trim()})`, unheard };
    },
  };
}

/** What systemctl says where no systemd of this user runs: in a container, or in a shell of su or sudo. */
const NOT_HEARD =
  /failed to connect to (?:user scope )?bus|not been booted with systemd|XDG_RUNTIME_DIR (?:is )?not (?:set|defined)/i;

/** The error where no systemd of this user took the order; undefined where one did. */
function unheardIn({ code, out }: Ran, { user, uid }: ServiceScene): OpenClawError | undefined {
  if (code === 0 || !NOT_HEARD.test(out)) return undefined;
  return new OpenClawError("SERVICE_UNSUPPORTED", {
    message: `No systemd of the user ${user} can be reached here: ${out.trim()}`,
    fix:
      `On a machine with systemd, log in as ${user} (ssh or a console; a shell of su or sudo has none), or run: ` +
      `sudo loginctl enable-linger ${user}, then: export XDG_RUNTIME_DIR=/run/user/${uid}. In a container it runs without a service: openclaw gateway run`,
  });
}

const PROPERTIES = ["ActiveState", "SubState", "MainPID", "Result", "UnitFileState", "NRestarts"];

function stateOf(shown: string): ServiceState {
  const fields = new Map(
    shown.split("\n").map((line) => [line.split("=")[0] ?? "", line.slice(line.indexOf("=") + 1)]),
  );
  const field = (name: string) => fields.get(name) ?? "";
  const pid = Number(field("MainPID"));
  const restarts = Number(field("NRestarts"));
  return {
    running: ["active", "activating", "reloading", "deactivating"].includes(field("ActiveState")) && pid > 0,
    enabled: field("UnitFileState") === "enabled",
    ...(pid > 0 && { pid }),
    detail: [
      `${field("ActiveState")} (${field("SubState")})`,
      ...(["success", ""].includes(field("Result")) ? [] : [field("Result")]),
      ...(restarts > 0 ? [`restarted ${restarts} times`] : []),
    ].join(", "),
  };
}

/** Without lingering, the services of a user end with the last login. */
async function lingerNotes({ run, user }: ServiceScene): Promise<readonly string[]> {
  const shown = await run(["loginctl", "show-user", user, "--property", "Linger"]).catch(() => undefined);
  if (shown?.out.includes("Linger=yes")) return [];
  const enabled = await run(["loginctl", "enable-linger", user]).catch(() => undefined);
  return enabled?.code === 0 ? [] : [`It ends when you log out, until you run: sudo loginctl enable-linger ${user}`];
}

function unitOf({ argv, env, stateDir, secretsFile }: ServicePlan, name: string): string {
  const variables = { ...env, OPENCLAW_SYSTEMD_UNIT: name };
  return `# ${SERVICE_MARK}. \`openclaw gateway install --force\` writes it again; put your own lines into
# a drop-in: systemctl --user edit ${name}
[Unit]
Description=OpenClaw gateway (${plain(stateDir)})
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
NotifyAccess=all
WatchdogSec=${WATCHDOG_SECONDS}
ExecStart=${argv.map(quoted).join(" ")}
${Object.entries(variables)
  .map(([key, value]) => `Environment=${quoted(`${key}=${value}`)}`)
  .join("\n")}
EnvironmentFile=-${plain(secretsFile)}
Restart=always
RestartSec=5
# 78: a restart would not help, because the config is wrong or another gateway owns the state.
RestartPreventExitStatus=78
SuccessExitStatus=0 143
TimeoutStartSec=300
TimeoutStopSec=330
# The gateway itself ends what it has started, some of it later than itself.
KillMode=process
OOMPolicy=continue
UMask=0077
NoNewPrivileges=true

[Install]
WantedBy=default.target
`;
}

/** A value in which systemd replaces nothing. */
const plain = (text: string): string => text.replaceAll("%", "%%");

/** An argument as systemd reads it. */
const quoted = (text: string): string =>
  `"${plain(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("$", "$$$$").replaceAll("\n", "\\n")}"`;
