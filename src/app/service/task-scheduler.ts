import { join } from "node:path";
import { SERVICE_MARK, must, xmlText, type ServiceManager, type ServicePlan, type ServiceScene } from "./manager.ts";

/** A task of Windows that begins at the login. */
export function taskScheduler(
  { profile, stateDir }: Pick<ServicePlan, "profile" | "stateDir">,
  scene: ServiceScene,
): ServiceManager {
  const name = `OpenClaw Gateway${profile === undefined ? "" : ` (${profile})`}`;
  const file = join(stateDir, "service-env", "gateway-task.xml");
  const script = join(stateDir, "service-env", "gateway.cmd");
  const schtasks = (...args: readonly string[]) => scene.run(["schtasks", ...args]);
  const logCommand = `schtasks /Query /TN "${name}" /V /FO LIST`;
  const act = async (...args: readonly string[]) =>
    must(await schtasks(...args), ["schtasks", ...args], `Look at: ${logCommand}`);
  const end = async () => void (await schtasks("/End", "/TN", name));
  return {
    name,
    kind: "the Windows Task Scheduler",
    file,
    logCommand,
    files: (plan) => [
      { path: script, mode: 0o700, text: scriptOf(plan) },
      { path: file, mode: 0o600, text: taskOf(script, scene.user) },
    ],
    async enable() {
      await act("/Create", "/TN", name, "/XML", file, "/F");
      return ["It runs while you are logged in."];
    },
    start: () => act("/Run", "/TN", name),
    stop: end,
    async restart() {
      await end();
      await act("/Run", "/TN", name);
    },
    disable: () => act("/Change", "/TN", name, "/DISABLE"),
    forget: () => act("/Delete", "/TN", name, "/F"),
    async state() {
      const { code, out } = await schtasks("/Query", "/TN", name, "/FO", "CSV", "/NH");
      const status = /","([^"]*)"\s*$/m.exec(out)?.[1] ?? "not installed";
      return {
        running: status === "Running",
        enabled: code === 0 && status !== "Disabled",
        detail: status,
      };
    },
  };
}

/** Reads the variables that are secrets, one in a line, and runs the gateway. */
function scriptOf({ argv, env, secretsFile }: ServicePlan): string {
  const word = (text: string) => `"${text.replaceAll("%", "%%")}"`;
  return [
    "@echo off",
    `rem ${SERVICE_MARK}.`,
    ...Object.entries(env)
      .filter(([key]) => key !== "PATH" && key !== "HOME")
      .map(([key, value]) => `set ${word(`${key}=${value}`)}`),
    `if exist ${word(secretsFile)} for /f "usebackq eol=# tokens=1,* delims==" %%a in (${word(secretsFile)}) do set "%%a=%%b"`,
    argv.map(word).join(" "),
    "",
  ].join("\r\n");
}

const taskOf = (script: string, user: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${SERVICE_MARK}. -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>${xmlText(user)}</UserId></LogonTrigger></Triggers>
  <Principals><Principal id="Author"><UserId>${xmlText(user)}</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>3</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author"><Exec><Command>${xmlText(script)}</Command></Exec></Actions>
</Task>
`;
