import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { runGit, type Programs } from "./programs.ts";

export interface GitAddress {
  readonly url: string;
  readonly ref?: string;
}

/** Fetches one commit without its history into a new folder and returns its hash. Throws `PLUGIN_FETCH`. */
export async function fetchGit(programs: Programs, { url, ref = "HEAD" }: GitAddress, into: string): Promise<string> {
  const at = { cwd: into, what: `git could not fetch ${url}` };
  await mkdir(into, { recursive: true, mode: 0o700 });
  await runGit(programs, ["init", "--quiet", "--template="], at);
  await runGit(programs, ["fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", url, ref], at);
  await runGit(programs, ["checkout", "--quiet", "--force", "FETCH_HEAD"], at);
  const commit = (await runGit(programs, ["rev-parse", "HEAD"], at)).trim();
  await rm(join(into, ".git"), { recursive: true, force: true });
  return commit;
}

/** The commit that a branch or tag names now; undefined where the server does not say, as for a commit's own hash. */
export async function latestCommit(
  programs: Programs,
  { url, ref = "HEAD" }: GitAddress,
  cwd: string,
): Promise<string | undefined> {
  const at = { cwd, what: `git could not read ${url}` };
  const lines = (await runGit(programs, ["ls-remote", "--end-of-options", url, ref, `${ref}^{}`], at))
    .trim()
    .split("\n");
  // The commit of an annotated tag follows the tag's own hash.
  return lines.at(-1)?.split("\t", 1)[0] || undefined;
}
