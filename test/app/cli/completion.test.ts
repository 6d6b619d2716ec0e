import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../../src/app/cli/run/run-cli.ts";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  let [out, err] = ["", ""];
  const io = {
    env,
    contributions: bundledContributions(),
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    isTerminal: false,
    isErrTerminal: false,
    color: false,
    verbose: false,
  };
  return { code: await runCommand(io, args), out, err };
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "completion-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("bash completes groups, commands and flags", async () => {
  const dir = folder();
  writeFileSync(join(dir, "openclaw"), (await run(["completion", "bash"])).out);
  const complete = (...words: readonly string[]): readonly string[] => {
    const asked = `source ${dir}/openclaw; COMP_WORDS=(openclaw ${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length}; _openclaw; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", asked], { encoding: "utf8" }).split("\n").filter(Boolean);
  };
  expect(complete("gat")).toEqual(["gateway"]);
  expect(complete("gateway", "un")).toEqual(["uninstall"]);
  expect(complete("gateway", "install", "--f")).toEqual(["--force"]);
  expect(complete("cron", "add", "--name", "tea", "--ev")).toEqual(["--every"]);
  expect(complete("models", "auth", "")).toContain("paste-token");
  expect(complete("nothing", "like", "this", "doct")).toEqual(["doctor"]);
});

test.each(["zsh", "fish", "powershell"])("%s gets every command", async (shell) => {
  const { out, code } = await run(["completion", "--shell", shell]);
  expect(code).toBe(0);
  for (const word of ["gateway", "models auth", "paste-token", "--every", "claw-gateway"]) expect(out).toContain(word);
});

test("the shell is that of the terminal, and its script is written where the shell looks for it", async () => {
  const home = folder();
  const env = { SHELL: "/usr/bin/fish", HOME: home };
  expect((await run(["completion"], env)).out).toContain("complete -c openclaw");
  expect(await run(["completion", "--install"], env)).toMatchObject({
    code: 0,
    out: expect.stringContaining("openclaw.fish"),
  });
  expect(readFileSync(join(home, ".config/fish/completions/openclaw.fish"), "utf8")).toContain("__openclaw_complete");
  expect(await run(["completion", "zsh", "--install"], env)).toMatchObject({
    code: 2,
    err: expect.stringContaining("~/.zshrc"),
  });
  expect(await run(["completion", "tcsh"], env)).toMatchObject({
    code: 2,
    err: expect.stringContaining("bash, zsh, fish, powershell"),
  });
});
