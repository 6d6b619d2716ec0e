import { execFile } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { OpenClawError } from "../../../../types/errors.ts";
import { unlessMissing } from "../../../../utils/missing.ts";
import { errorText } from "../../../../utils/text/error-text.ts";
import { oldestNode } from "../../../package-root.ts";
import type { ServiceChoices } from "../../../service/service.ts";

/** Throws USAGE for a program of the service that cannot be run. */
export async function refuseUnusable({ runtimePath, wrapper }: ServiceChoices): Promise<void> {
  for (const [flag, given] of [
    ["--runtime-path", runtimePath],
    ["--wrapper", wrapper],
  ]) {
    if (given === undefined) continue;
    const path = resolve(given);
    const isProgram = (await unlessMissing(stat(path)))?.isFile() === true;
    const runs =
      isProgram &&
      (await access(path, constants.X_OK).then(
        () => true,
        () => false,
      ));
    if (runs) continue;
    throw new OpenClawError("USAGE", {
      message: `${flag} ${path} is ${isProgram ? "not executable" : "no file"}, so the service could not start.`,
      fix: isProgram ? `Run: chmod +x ${path}` : "Give the path of a program, such as the output of: which node",
    });
  }
  if (runtimePath !== undefined) await refuseNoNode(resolve(runtimePath));
}

/** Milliseconds in which a Node says its version. */
const VERSION_MS = 20_000;

/** Throws USAGE for a program that is no Node, or one that is too old for the gateway. */
async function refuseNoNode(path: string): Promise<void> {
  const { promise, resolve: answered } = Promise.withResolvers<{ readonly said: string; readonly error?: Error }>();
  execFile(path, ["--version"], { timeout: VERSION_MS }, (error, stdout) =>
    answered({ said: stdout.trim(), ...(error && { error }) }),
  );
  const { said, error } = await promise;
  const version = error ? undefined : /^v(\d+)\.(\d+)\.\d+$/.exec(said);
  const [major = 0, minor = 0] = oldestNode().split(".").map(Number);
  if (version && (Number(version[1]) > major || (Number(version[1]) === major && Number(version[2]) >= minor))) return;
  const why = version
    ? `is Node ${said}, and the gateway needs Node ${oldestNode()} or newer`
    : `is no Node: \`${path} --version\` ${error ? `failed (${errorText(error).split("\n")[0]})` : `said ${JSON.stringify(said.slice(0, 80))}`}`;
  throw new OpenClawError("USAGE", {
    message: `--runtime-path ${path} ${why}.`,
    fix: "Give the path of a Node, such as the output of: which node; or leave --runtime-path out, and the Node of this command is used.",
  });
}
