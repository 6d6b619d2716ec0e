import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { commandEnvironment } from "../../src/tools/host/environment.ts";
import { hostBackends } from "../../src/tools/host/host.ts";
import type { Allowances } from "../../src/tools/exec/permission.ts";
import { execTool } from "../../src/tools/exec.ts";
import { allowanceFor } from "../../src/tools/exec/rules/exec-allowance.ts";
import { runTool } from "../../src/tools/run.ts";
import { endedCommand } from "../kit/tools.ts";
import { until } from "../kit/until.ts";
import { createTools } from "../kit/create-tools.ts";
import { Secret } from "../../src/types/secret.ts";
import type { ExecSettings } from "../../src/types/settings.ts";
import type { ToolResult } from "../../src/types/run/tool.ts";
import { agentSettings, isAlive, noRules, textOf, toolContext } from "../kit/tools.ts";

let workspace: string;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "exec-")));
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

type ContextPatch = Parameters<typeof toolContext>[1] & { exec?: Partial<ExecSettings>; rules?: Allowances };

function exec(input: unknown, patch: ContextPatch = {}): Promise<ToolResult> {
  const settings = agentSettings(workspace, patch.exec === undefined ? {} : { exec: patch.exec });
  const tools = createTools({ settings, rules: patch.rules ?? noRules, rights: "owner", deniedPaths: [] });
  const tool = tools.find((one) => one.name === "exec");
  return runTool(tool!, input, toolContext(workspace, patch));
}

/** The result of a command whose time is over once it has made the file `begun`. */
async function afterItsTime(command: string): Promise<ToolResult> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const running = exec({ command, timeout: 30 });
    await until(() => existsSync(join(workspace, "begun")));
    vi.advanceTimersByTime(30_000);
    vi.useRealTimers();
    return await running;
  } finally {
    vi.useRealTimers();
  }
}

describe("exec", () => {
  it("gives both streams and the exit code", async () => {
    const result = await exec({ command: "echo out; echo err >&2; exit 3" });
    expect(textOf(result)).toBe("out\nerr\n\n[exit code 3]");
    expect(result.isError).toBe(true);
    expect(result.details).toMatchObject({ exitCode: 3 });
    expect(textOf(await exec({ command: "true" }))).toBe("[no output]\n\n[exit code 0]");
  });

  it("runs in the workspace or in a directory of it", async () => {
    expect(textOf(await exec({ command: "pwd" }))).toContain(workspace);
    expect(textOf(await exec({ command: "mkdir d && cd d && pwd" }))).toContain(`${workspace}/d`);
    expect(textOf(await exec({ command: "pwd", cwd: "d" }))).toContain(`${workspace}/d`);
    expect((await exec({ command: "pwd", cwd: "none" })).isError).toBe(true);
  });

  it.each([
    [{ command: "echo a\0b" }, /NUL character/],
    [{ command: "pwd", workdir: "a\0b" }, /NUL character/],
    [{ command: "pwd", workdir: "none" }, /none: there is no such file or directory\.$/],
    [{ command: "pwd", workdir: "n".repeat(3000) }, /the name or path is too long\.$/],
    [{ command: "pwd", workdir: "file/in" }, /a part of the path is no directory\.$/],
  ])("says in a sentence why the system refuses %j", async (input, sentence) => {
    await writeFile(join(workspace, "file"), "");
    const result = await exec(input);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(sentence);
    expect(textOf(result)).not.toMatch(/args\[|ENOENT|ENOTDIR|ENAMETOOLONG|syscall|stat/);
    expect(textOf(result).length).toBeLessThan(400);
  });

  it("has no input to wait for", async () => {
    expect(textOf(await exec({ command: "cat; echo done" }))).toContain("done");
  });

  it("ends a command that took too long, and returns its output", async () => {
    const result = await afterItsTime("echo begun; touch begun; sleep 60");
    expect(textOf(result)).toBe("begun\n\n[ended after 30 seconds: timeout]");
    expect(result.isError).toBe(true);
  });

  it("kills a stubborn command and all its children soon after an abort", async () => {
    const abort = new AbortController();
    const updates: string[] = [];
    const command = "trap '' TERM; sh -c \"trap '' TERM; sleep 60\" & echo $$ $!; sleep 60";
    const running = exec({ command }, { signal: abort.signal, updates });
    await until(() => updates.some((text) => /\d+ \d+/.test(text)));
    const pids = updates[0]!.trim().split(" ").map(Number);
    expect(pids.every(isAlive)).toBe(true);
    const before = performance.now();
    abort.abort();
    expect((await running).isError).toBe(true);
    // The command itself would take a minute.
    expect(performance.now() - before).toBeLessThan(20_000);
    await until(() => !pids.some(isAlive));
  });

  it("starts nothing when the run is stopped while an allowed command's files are compared", async () => {
    const abort = new AbortController();
    const started: string[] = [];
    let comparisons = 0;
    const tool = execTool({
      settings: agentSettings(workspace, { exec: { security: "allowlist", ask: "always" } }).exec,
      rules: noRules,
      hasOwnerRights: false,
      backend: {
        directory: async () => workspace,
        filesOf: async () => {
          comparisons += 1;
          if (comparisons === 2) abort.abort();
          return [];
        },
        async start({ command }) {
          started.push(command);
          return endedCommand("", 0);
        },
      },
    });
    const context = toolContext(workspace, { signal: abort.signal, answer: "allow-once" });
    expect((await runTool(tool, { command: "touch made.txt" }, context)).isError).toBe(true);
    expect([comparisons, started]).toEqual([2, []]);
  });

  it("kills the processes that the shell left, although the shell itself ended", async () => {
    const abort = new AbortController();
    const updates: string[] = [];
    const command = "sh -c \"trap '' TERM; echo $$; sleep 60\"; true";
    const running = exec({ command }, { signal: abort.signal, updates });
    await until(() => updates.length > 0);
    abort.abort();
    await running;
    const pid = Number(updates[0]);
    await until(() => !isAlive(pid));
  });

  it.each(["sleep 60 & echo $!", "sleep 60 >/dev/null 2>&1 & echo $!", "setsid sleep 60 & echo $!"])(
    "ends what a command leaves in the background: %s",
    async (command) => {
      const before = performance.now();
      // Until the new process has become `sleep`, it has the name of the shell.
      const result = await exec({ command: `${command}; until ps -o comm= -p $! | grep -q sleep; do :; done` });
      expect(performance.now() - before).toBeLessThan(30_000);
      expect(result.details).toMatchObject({ status: "completed", exitCode: 0 });
      const pid = Number.parseInt(textOf(result), 10);
      if (process.platform === "linux") expect(textOf(result)).toContain(`[Ended with the command: ${pid} (sleep 60).`);
      await until(() => !isAlive(pid));
    },
  );

  it.runIf(process.platform === "linux")("ends what left its group, after a timeout and after an abort", async () => {
    const command = "setsid sh -c 'trap \"\" TERM; echo $$; touch begun; sleep 60; true' & sleep 60";
    const timedOut = await afterItsTime(command);
    expect(textOf(timedOut)).toMatch(/^\d+\n\n\[ended after 30 seconds: timeout\]$/);
    await until(() => !isAlive(Number.parseInt(textOf(timedOut), 10)));
    const abort = new AbortController();
    const updates: string[] = [];
    const running = exec({ command }, { signal: abort.signal, updates });
    await until(() => updates.length > 0);
    abort.abort();
    await running;
    await until(() => !isAlive(Number(updates[0])));
  });

  it("reports its progress less often the longer it lasts", async () => {
    const updates: string[] = [];
    const before = performance.now();
    await exec({ command: "for i in $(seq 60); do echo $i; sleep 0.05; done" }, { updates });
    const elapsed = performance.now() - before;
    // The sum of 250 ms that grow by a tenth.
    expect(updates.length).toBeLessThanOrEqual(Math.log(1 + elapsed / 2500) / Math.log(1.1) + 2);
    expect(updates.length).toBeGreaterThan(2);
  });

  it("keeps the end of a long output, and all of it in a file that read may open", async () => {
    const text = textOf(await exec({ command: "seq 1 30000" }));
    expect(text.endsWith("30000\n\n[exit code 0]")).toBe(true);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(51_200);
    const file = /All of it is in (.*)\.\]/.exec(text)?.[1] ?? "";
    expect(file.startsWith(workspace)).toBe(true);
    expect(await readFile(file, "utf8")).toBe(Array.from({ length: 30_000 }, (_, index) => `${index + 1}\n`).join(""));
  });

  it("names no file for the full output when it could not be written", async () => {
    await writeFile(join(workspace, ".openclaw"), "in the way");
    const text = textOf(await exec({ command: "seq 1 30000" }));
    expect(text).toMatch(/^\[This is the end of a longer output\.\]\n/);
    expect(text.endsWith("30000\n\n[exit code 0]")).toBe(true);
  });

  it("keeps the exit code of an output that is long in few lines", async () => {
    const text = textOf(await exec({ command: "head -c 300000 /dev/zero | tr '\\0' ü" }));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(51_200);
    expect(text.endsWith("[exit code 0]")).toBe(true);
  });

  it("shows progress at most four times a second", async () => {
    const updates: string[] = [];
    const before = performance.now();
    await exec({ command: "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done" }, { updates });
    expect(updates.length).toBeGreaterThan(1);
    expect(updates.length).toBeLessThanOrEqual((performance.now() - before) / 250 + 1);
    expect(updates[0]).toContain("1");
  });

  it("gives clean text", async () => {
    expect(textOf(await exec({ command: String.raw`printf '\033[31mred\033[0m\r\n\000x'` }))).toBe(
      "red\nx\n\n[exit code 0]",
    );
  });
});

describe("what a command may meet", () => {
  it.runIf(process.platform !== "win32")("is a pipe in place of its directory, which nobody opens", async () => {
    await exec({ command: "mkfifo pipe" });
    const result = await exec({ command: "pwd", workdir: "pipe" });
    expect(textOf(result)).toBe("pipe is not a directory.");
    expect(result.isError).toBe(true);
  });

  it("is a directory whose name has line breaks, quotes and blanks", async () => {
    const name = "a\nb 'c' \"d\" $(e) ü";
    await mkdir(join(workspace, name));
    expect(textOf(await exec({ command: "pwd", workdir: name }))).toBe(`${workspace}/${name}\n\n[exit code 0]`);
    expect((await exec({ command: "pwd", workdir: "a\0b" })).isError).toBe(true);
  });

  it("is output that is no text", async () => {
    const random = textOf(await exec({ command: "head -c 300000 /dev/urandom; exit 2" }));
    expect(random.endsWith("[exit code 2]")).toBe(true);
    expect(random.isWellFormed()).toBe(true);
    expect(random).not.toContain("\0");
    expect(textOf(await exec({ command: String.raw`printf '\377\376ok'` }))).toBe("\uFFFD\uFFFDok\n\n[exit code 0]");
  });

  it("is output that comes in pieces of characters and of terminal controls", async () => {
    const command = String.raw`printf '\303'; sleep 0.1; printf '\251 \033[3'; sleep 0.1; printf '1mred\033[0m\r'; sleep 0.1; printf '\n'`;
    expect(textOf(await exec({ command }))).toBe("é red\n\n[exit code 0]");
  });
});

describe("asking", () => {
  const ask: Partial<ExecSettings> = { security: "allowlist", ask: "on-miss" };

  it("runs what was allowed and names who refused", async () => {
    const asked: string[] = [];
    const command = " touch made ";
    expect(textOf(await exec({ command }, { exec: ask, asked }))).toContain("A person refused");
    expect(textOf(await exec({ command }, { exec: ask, asked, answer: "timeout" }))).toContain("Nobody answered");
    expect(textOf(await exec({ command: "ls" }, { exec: ask, answer: "allow-once" }))).toContain("[no output]");
    expect(textOf(await exec({ command }, { exec: ask, asked, answer: "allow-always" }))).toContain("[exit code 0]");
    expect(asked).toEqual(["touch made", "touch made", "touch made"]);
  });

  it("leaves out what is safe or allowed for good", async () => {
    const asked: string[] = [];
    const rules: Allowances = {
      isAllowed: async (agent, { key }) =>
        agent === "main" && key === allowanceFor({ command: "touch x", cwd: workspace, files: [] })?.key,
    };
    expect(textOf(await exec({ command: "echo hi" }, { exec: ask, asked }))).toContain("hi");
    expect(textOf(await exec({ command: "touch x && echo ok" }, { exec: ask, asked, rules }))).toContain("ok");
    expect(asked).toEqual([]);
    await mkdir(join(workspace, "other"));
    await rm(join(workspace, "x"));
    await exec({ command: "touch x", cwd: "other" }, { exec: ask, asked, rules });
    await exec({ command: "cd other && touch x" }, { exec: ask, asked, rules });
    expect(asked).toEqual(["touch x", "cd other && touch x"]);
  });

  it.each([
    "echo safe\u202E;hs.live",
    "rm x\r# harmless",
    "touch a\u200Bb",
    "touch a\u001B[2K",
    `ls${" ".repeat(200)};rm x`,
    `ls${"\n".repeat(40)}rm x`,
    `echo ${"x".repeat(9000)} $y`,
  ])("nobody can answer for what they do not see: %j", async (command) => {
    const asked: string[] = [];
    const result = await exec({ command }, { exec: ask, asked, answer: "allow-once" });
    expect(textOf(result)).toContain("nobody can be asked about it");
    expect(asked).toEqual([]);
  });

  it("never asks where commands are off or only the list counts", async () => {
    const asked: string[] = [];
    expect(textOf(await exec({ command: "pwd" }, { exec: { security: "deny" }, asked }))).toContain("switched off");
    const listOnly: Partial<ExecSettings> = { security: "allowlist", ask: "off" };
    expect(textOf(await exec({ command: "ls" }, { exec: listOnly, asked }))).toContain("only listed commands");
    expect(asked).toEqual([]);
  });
});

describe("a command that is never the agent's", () => {
  it.each([
    ["/approve abc123 once", "only a person answers"],
    ["true; /approve abc123 always", "only a person answers"],
    ["openclaw channels login --channel whatsapp", "a person logs a channel in"],
    ["node /opt/openclaw.mjs --profile x channels login", "a person logs a channel in"],
  ])("is refused although every command may run: %s", async (command, why) => {
    expect(textOf(await exec({ command }))).toContain(why);
  });

  it.each(["echo see /approve in the docs", "openclaw channels status; echo login", "echo openclaw channels"])(
    "is no other one: %s",
    async (command) => expect(textOf(await exec({ command }))).toContain("[exit code"),
  );

  it("names no database of the gateway, by no name", async () => {
    const stateDir = join(workspace, ".state");
    await mkdir(join(stateDir, "state"), { recursive: true });
    await writeFile(join(stateDir, "state", "journal.sqlite"), "rows");
    await symlink(join(stateDir, "state"), join(workspace, "link"));
    const { exec: backend } = hostBackends({
      settings: agentSettings(workspace),
      rights: "owner",
      deniedPaths: [],
      stateDir,
    });
    const tool = execTool({ settings: agentSettings(workspace).exec, rules: noRules, backend, hasOwnerRights: true });
    const says = async (command: string) => textOf(await runTool(tool, { command }, toolContext(workspace)));
    for (const path of [`${stateDir}/state/journal.sqlite`, ".state/state/journal.sqlite", "link/journal.sqlite"])
      expect(await says(`cat '${path}'`)).toContain("the gateway has open");
    expect(await says("cd .state && ls")).toContain("[exit code 0]");
  });
});

describe("the environment of a command", () => {
  const kept = {
    HOME: "/h",
    USER: "ada",
    LC_TIME: "de_DE.UTF-8",
    TZ: "Europe/Berlin",
    https_proxy: "http://proxy:3128",
    OPENCLAW_STATE_DIR: "/s",
  };
  const fixed = { SHELL: "/bin/sh", PATH: "/opt/bin:/bin", OPENCLAW_SHELL: "exec", GIT_TERMINAL_PROMPT: "0" };
  const rules = { pathPrepend: ["/opt/bin"] };

  it("is a short list, whatever the others are called", () => {
    const names =
      "OPENCLAW_GATEWAY_TOKEN ANTHROPIC_API_KEY GH_TOKEN DATABASE_URL openai_api_key BOT_HOME LLM_KEY_MAIN DB_PASS MYSQL_PWD " +
      "API_KEYS OPENAI_API_KEY_2 SECRET_KEY_BASE BASIC_AUTH REDIS_AUTH BEARER MY_CREDS SSH_AUTH_SOCK BASH_ENV LD_PRELOAD " +
      "NODE_OPTIONS NODE_CHANNEL_FD MAX_TOKENS";
    const dropped = Object.fromEntries(names.split(" ").map((name) => [name, "x"]));
    const own = {
      ...kept,
      ...dropped,
      PATH: "/bin",
      SHELL: "/evil",
      https_PROXY: "http://u:p@proxy",
      TERM: "x".repeat(40_000),
    };
    expect(commandEnvironment(own, rules)).toEqual({ ...kept, ...fixed });
  });

  it("has what the operator names, but nothing that the config references and no secret", () => {
    const secret = new Secret("a-value-of-the-config");
    const own = {
      PATH: "/bin",
      SSH_AUTH_SOCK: "/s",
      BOT_HOME: "b",
      COPY: secret.reveal(),
      HOME: secret.reveal(),
      LD_PRELOAD: "/x.so",
    };
    const passEnv = ["SSH_AUTH_SOCK", "BOT_HOME", "COPY", "LD_PRELOAD", "PATH"];
    expect(commandEnvironment(own, { ...rules, passEnv, secretVariables: ["BOT_HOME", "HOME"] })).toEqual({
      SSH_AUTH_SOCK: "/s",
      ...fixed,
    });
  });
});
