import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { namesIn } from "../exec/exec-names.ts";
import { isInside, realOf } from "../../utils/real-path.ts";

/**
 * Why a command may not run: it names the databases of a running gateway, which another program could damage. Undefined when it names
 * none. No barrier: a program may open what its words do not name. Never rejects.
 */
export async function whyClosed(
  command: string,
  { cwd, stateDir }: { readonly cwd: string; readonly stateDir: string | undefined },
): Promise<string | undefined> {
  if (stateDir === undefined) return undefined;
  const own = join(await realOf(stateDir), "state");
  const paths = namesIn(command, { home: homedir(), cwd }).map((name) => resolve(cwd, name));
  const real = await Promise.all(paths.map((path) => realOf(path).catch(() => path)));
  return [...paths, ...real].some((path) => isInside(path, own))
    ? `it names files in ${own}, which the gateway has open; openclaw runs, sessions and usage read them`
    : undefined;
}
