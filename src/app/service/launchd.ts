import { join } from "node:path";
import { shellWord } from "../../utils/text/shell-word.ts";
import {
  SERVICE_MARK,
  must,
  xmlText,
  type ServiceManager,
  type ServicePlan,
  type ServiceScene,
  type ServiceState,
} from "./manager.ts";

/** A user agent of macOS. */
export function launchd(
  { profile, stateDir }: Pick<ServicePlan, "profile" | "stateDir">,
  scene: ServiceScene,
): ServiceManager {
  const name = `ai.openclaw.${profile ?? "gateway"}`;
  const file = join(scene.home, "Library", "LaunchAgents", `${name}.plist`);
  const wrapper = join(stateDir, "service-env", `${name}.sh`);
  const errors = join(stateDir, "logs", "service-start.log");
  const domain = `gui/${scene.uid}`;
  const target = `${domain}/${name}`;
  const launchctl = (...args: readonly string[]) => scene.run(["launchctl", ...args]);
  const act = async (...args: readonly string[]) =>
    must(await launchctl(...args), ["launchctl", ...args], `Look into ${errors}, and at: launchctl print ${target}`);
  const isLoaded = async () => (await launchctl("print", target)).code === 0;
  const unload = async () => {
    if (await isLoaded()) await act("bootout", target);
  };
  const load = async () => {
    await act("enable", target);
    if (!(await isLoaded())) await act("bootstrap", domain, file);
  };
  return {
    name,
    kind: "launchd",
    file,
    logCommand: `cat ${errors}`,
    files: (plan) => [
      { path: wrapper, mode: 0o700, text: wrapperOf(plan, errors) },
      { path: file, mode: 0o600, text: plistOf(name, wrapper, { ...plan.env, OPENCLAW_LAUNCHD_LABEL: name }) },
    ],
    async enable() {
      // The next start reads the new file.
      await unload();
      return [];
    },
    async start() {
      await load();
      await act("kickstart", target);
    },
    // A loaded agent would be started again.
    stop: unload,
    async restart() {
      await load();
      await act("kickstart", "-k", target);
    },
    disable: () => act("disable", target),
    forget: unload,
    async state() {
      const { code, out } = await launchctl("print", target);
      const disabled = await launchctl("print-disabled", domain);
      return stateOf(code === 0 ? out : undefined, !new RegExp(`"${name}" => (?:true|disabled)`).test(disabled.out));
    },
  };
}

function stateOf(shown: string | undefined, enabled: boolean): ServiceState {
  const pid = Number(/^\s*pid = (\d+)/m.exec(shown ?? "")?.[1] ?? 0);
  const state = /^\s*state = (.+)$/m.exec(shown ?? "")?.[1] ?? "not loaded";
  const exit = /^\s*last exit code = (.+)$/m.exec(shown ?? "")?.[1];
  const ended = exit === undefined || exit === "0" || exit.startsWith("(") ? [] : [`last exit code ${exit}`];
  return {
    running: pid > 0,
    enabled,
    ...(pid > 0 && { pid }),
    detail: [state, ...ended].join(", "),
  };
}

/** Sets the variables that are secrets, which the agent's file must not have, and begins the file of errors anew. */
const wrapperOf = ({ argv, secretsFile }: ServicePlan, errors: string): string => `#!/bin/sh
# ${SERVICE_MARK}.
if [ -f ${shellWord(secretsFile)} ]; then set -a; . ${shellWord(secretsFile)}; set +a; fi
exec ${argv.map(shellWord).join(" ")} >/dev/null 2>${shellWord(errors)}
`;

const plistOf = (
  name: string,
  wrapper: string,
  env: Readonly<Record<string, string>>,
): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${SERVICE_MARK}. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>${xmlText(name)}</string>
  <key>ProgramArguments</key><array><string>${xmlText(wrapper)}</string></array>
  <key>EnvironmentVariables</key>
  <dict>
${Object.entries({ ...env, OPENCLAW_SHUTDOWN_GRACE_MS: "15000" })
  .map(([key, value]) => `    <key>${xmlText(key)}</key><string>${xmlText(value)}</string>`)
  .join("\n")}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ThrottleInterval</key><integer>10</integer>
  <key>ExitTimeOut</key><integer>20</integer>
  <key>Umask</key><integer>63</integer>
  <key>ProcessType</key><string>Interactive</string>
</dict>
</plist>
`;
