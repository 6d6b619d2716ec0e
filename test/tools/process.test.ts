import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ExecBackend } from "../../src/types/run/backend.ts";
import type { BackgroundProcess } from "../../src/tools/process/background-process.ts";
import { Processes } from "../../src/tools/process/processes.ts";
import { runTool } from "../../src/tools/run.ts";
import { systemClock, type Clock } from "../../src/types/clock.ts";
import type { Allowances } from "../../src/tools/exec/permission.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import type { Acting } from "../../src/types/run/principal.ts";
import { Secret } from "../../src/types/secret.ts";
import type { AgentSettings } from "../../src/types/settings.ts";
import type { Elevation, ToolResult } from "../../src/types/run/tool.ts";
import { createTools } from "../kit/create-tools.ts";
import { agentSettings, isAlive, noRules, textOf, toolContext } from "../kit/tools.ts";
import { until } from "../kit/until.ts";

let workspace: string;
let processes: Processes;
let exited: BackgroundProcess[];

/** A clock whose waits all take this long. */
const hasty = (ms: number): Clock => ({ now: () => Date.now(), after: (_ms, call) => systemClock.after(ms, call) });

beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "process-")));
  exited = [];
  processes = new Processes({ clock: systemClock, exited: (one) => exited.push(one) });
});
afterEach(async () => {
  await processes.close();
  await rm(workspace, { recursive: true, force: true });
});

type Patch = Parameters<typeof toolContext>[1] & {
  readonly exec?: Partial<AgentSettings["exec"]>;
  readonly tools?: Partial<AgentSettings["tools"]>;
  readonly acting?: Partial<Acting>;
  readonly rules?: Allowances;
  readonly elevation?: Pick<Elevation, "level">;
  readonly boundary?: Pick<ExecBackend, "isIsolated" | "writesWorkspace">;
};

function call(
  name: "exec" | "process",
  input: unknown,
  { exec = {}, tools: policy = {}, acting, elevation, boundary, rules = noRules, ...patch }: Patch = {},
) {
  const settings = agentSettings(workspace, { exec, tools: policy });
  const tools = createTools({
    settings,
    rules,
    rights: "owner",
    deniedPaths: [],
    processes,
    ...(acting && { acting }),
    elevation,
    boundary,
  });
  const tool = tools.find((one) => one.name === name);
  return runTool(tool!, input, toolContext(workspace, patch));
}

const follow = (action: string, sessionId: string, more: object = {}, patch: Patch = {}) =>
  call("process", { action, sessionId, ...more }, patch);

const idOf = (result: ToolResult): string => {
  expect(result.details).toMatchObject({ status: "running" });
  return String(result.details?.["sessionId"]);
};

const start = async (command: string, more: object = {}, patch: Patch = {}) =>
  idOf(await call("exec", { command, background: true, ...more }, patch));

/** Polls until the process has ended; all that the polls gave, without their states. */
async function rest(id: string): Promise<string> {
  let all = "";
  let status: unknown = "running";
  while (status === "running") {
    const result = await follow("poll", id, { timeout: 30_000 });
    all += textOf(result).replace(/(?:\[no new output\])?\n\n\[[^]*$/, "");
    status = result.details?.["status"];
  }
  return all;
}

describe("a command in the background", () => {
  it("is started at once, polled, logged and ends with its exit code", async () => {
    const result = await call("exec", { command: "echo one; read x; echo two $x; exit 3", background: true });
    expect(result.details).toEqual({
      status: "running",
      sessionId: expect.any(String),
      pid: expect.any(Number),
      startedAt: expect.any(Number),
      cwd: workspace,
      tail: expect.any(String),
    });
    const id = idOf(result);
    expect(textOf(await follow("poll", id, { timeout: 30_000 }))).toMatch(/^one\n\n\n\[Still running\./);
    const idle = await follow("poll", id);
    expect(textOf(idle)).toMatch(/^\[no new output\]/);
    expect(idle.details).toMatchObject({ status: "running", retryInMs: 5000, waitingForInput: false });
    expect((await follow("poll", id)).details).toMatchObject({ retryInMs: 10_000 });
    await follow("submit", id, { text: "three" });
    const end = await follow("poll", id, { timeout: 30_000 });
    expect(textOf(end)).toContain("two three");
    await until(() => processes.all()[0]?.status === "failed");
    expect(textOf(await follow("poll", id))).toContain("[exit code 3]");
    const log = await follow("log", id);
    expect(textOf(log)).toBe("one\ntwo three\n\n[lines 0 to 1; 2 in all; failed]");
    expect(textOf(await follow("log", id, { offset: 1, limit: 5 }))).toMatch(/^two three\n/);
    expect(log.details).toMatchObject({ exitCode: 3, timedOut: false, totalLines: 2 });
  });

  it("is what a command becomes that runs for longer than yieldMs", async () => {
    const id = idOf(await call("exec", { command: "echo early; sleep 1; echo late", yieldMs: 300 }));
    expect(await rest(id)).toContain("late");
    const quick = await call("exec", { command: "echo quick", yieldMs: 120_000 });
    expect(quick.details).toMatchObject({ status: "completed", aggregated: "quick\n", timedOut: false, exitCode: 0 });
    expect(quick.details?.["durationMs"]).toBeLessThan(60_000);
    expect(
      idOf(await call("exec", { command: "sleep 60" }, { exec: { background: { ...SHORT, afterMs: 20 } } })),
    ).toBeTruthy();
  });

  it("is waited for where the agent has no process tool", async () => {
    const denied = { tools: { global: { key: "tools", deny: ["process"] } } };
    const result = await call("exec", { command: "sleep 0.3; echo done", background: true, yieldMs: 10 }, denied);
    expect(textOf(result)).toBe("done\n\n[exit code 0]");
    expect(result.details).toMatchObject({ status: "completed" });
  });

  it("is listed with what it does", async () => {
    const id = await start("echo begun; sleep 60");
    await follow("poll", id, { timeout: 30_000 });
    const list = await call("process", { action: "list" });
    expect(textOf(list)).toContain(`${id} running`);
    expect(list.details?.["sessions"]).toEqual([
      {
        sessionId: id,
        name: "echo begun; sleep 60",
        status: "running",
        pid: expect.any(Number),
        startedAt: expect.any(Number),
        runtimeMs: expect.any(Number),
        cwd: workspace,
        command: "echo begun; sleep 60",
        tail: "begun",
        truncated: false,
        stdinWritable: true,
        waitingForInput: false,
        idleMs: expect.any(Number),
      },
    ]);
  });

  it("dies with all that it started when it is killed, and nobody is told of that", async () => {
    const id = await start("trap '' TERM; sh -c 'trap \"\" TERM; sleep 60' & setsid sleep 61 & echo $$ $!; sleep 60");
    const pids = textOf(await follow("poll", id, { timeout: 30_000 }))
      .split("\n")[0]!
      .split(" ")
      .map(Number);
    expect(pids.every(isAlive)).toBe(true);
    expect(textOf(await follow("kill", id))).toContain("It is ended");
    // The system ends a killed process when it next has time for it.
    await until(() => !pids.some(isAlive));
    expect((await follow("poll", id)).details).toMatchObject({ status: "killed" });
    expect((await follow("kill", id)).isError).toBe(true);
    expect(exited).toEqual([]);
  });

  it("is forgotten by clear once it has ended, and by remove at once", async () => {
    const id = await start("sleep 60");
    expect((await follow("clear", id)).isError).toBe(true);
    await follow("remove", id);
    expect(textOf(await follow("poll", id))).toContain("There is no process");
    const done = await start("true");
    await rest(done);
    await follow("clear", done);
    expect(textOf(await call("process", { action: "list" }))).toBe("No command runs in the background.");
  });

  it("ends with the gateway", async () => {
    const id = await start("trap '' TERM; echo $$; sleep 60 & sleep 60");
    const pid = Number.parseInt(textOf(await follow("poll", id, { timeout: 30_000 })), 10);
    const updates: string[] = [];
    const waiting = call("exec", { command: "echo begun; sleep 60" }, { updates });
    await until(() => updates.length > 0);
    await processes.close();
    await until(() => !isAlive(pid));
    expect(textOf(await waiting)).toContain("[aborted]");
    expect(exited).toEqual([]);
    expect((await call("exec", { command: "true" })).isError).toBe(true);
  });

  it("ends after its timeout, which it may do without", async () => {
    const id = await start("sleep 60", { timeout: 0.2 });
    await rest(id);
    expect((await follow("poll", id)).details).toMatchObject({ status: "failed", timedOut: true });
    expect(exited.map((one) => one.id)).toEqual([]);
    const exec = { timeoutMs: 200 };
    expect(textOf(await call("exec", { command: "sleep 60", timeout: 0 }, { exec }))).toContain("0.2 seconds: timeout");
    expect(await rest(await start("sleep 0.5; echo done", { timeoutSeconds: 0 }, { exec }))).toContain("done");
  });
});

const SHORT = { afterMs: 10_000, keptMs: 60_000, notifyOnExit: true, notifyOnExitEmptySuccess: false };

describe("the end of a background command", () => {
  const ends = async (command: string, patch: Patch = {}) => {
    const id = await start(command, {}, patch);
    await until(() => processes.all().find((one) => one.id === id)?.status !== "running");
    return exited.some((one) => one.id === id);
  };

  it("is told unless it was silent and good, or nobody wants to know", async () => {
    expect(await ends("echo done")).toBe(true);
    expect(await ends("exit 1")).toBe(true);
    expect(await ends("true")).toBe(false);
    expect(await ends("true", { exec: { background: { ...SHORT, notifyOnExitEmptySuccess: true } } })).toBe(true);
    expect(await ends("echo done", { exec: { background: { ...SHORT, notifyOnExit: false } } })).toBe(false);
    expect(await ends("echo done", { acting: { depth: 1 } })).toBe(false);
  });

  it("is not told when a poll waits for it", async () => {
    const id = await start("sleep 0.3; exit 2");
    await rest(id);
    expect(exited).toEqual([]);
  });

  it("leaves its output for a time, and not without end", async () => {
    processes = new Processes({ clock: hasty(100), exited: () => undefined });
    const id = await start("echo done");
    await rest(id);
    await until(() => processes.all().length === 0, "its time to be over");
    processes = new Processes({ clock: systemClock, exited: () => undefined });
    for (let count = 0; count < 12; count += 1) {
      const one = await start("head -c 250000 /dev/zero | tr '\\0' x");
      await until(() => processes.find(one, VIEWER)?.status === "completed");
    }
    expect(processes.all()).toHaveLength(10);
  });
});

const VIEWER = { agentId: agentId("main"), sessionKey: sessionKey("s1"), hasOwnerRights: true, isSubagent: false };

describe("the input of a background command", () => {
  it("is text, keys and bytes, and can end", async () => {
    const id = await start("cat");
    await follow("write", id, { data: "a\n" });
    await follow("send-keys", id, { literal: "b", keys: ["C-i", "Space"], hex: ["63", "0x0a"] });
    await follow("paste", id, { text: "d\n" });
    await follow("write", id, { data: "e", eof: true });
    expect(await rest(id)).toBe("a\nb\t c\nd\ne");
    expect((await follow("write", id, { data: "x" })).isError).toBe(true);
    expect(textOf(await follow("send-keys", id, { keys: ["Hyper"] }))).toContain("no keys or bytes: Hyper");
  });

  it("is asked about where only the approvals document says so", async () => {
    const id = await start("cat");
    const rules: Allowances = { ...noRules, policy: async () => ({ rows: [], ask: "always" }) };
    const asked: string[] = [];
    const result = await follow("write", id, { data: "touch unasked" }, { rules, asked });
    expect(asked).toEqual(["touch unasked"]);
    expect(result.isError).toBe(true);
    const off: Allowances = { ...noRules, policy: async () => ({ rows: [], security: "deny" }) };
    expect(textOf(await follow("write", id, { data: "x" }, { rules: off }))).toContain("switched off");
  });

  it("is not written when the approvals document switches commands off while the question waits", async () => {
    const id = await start("cat");
    const asked: string[] = [];
    const rules: Allowances = {
      ...noRules,
      policy: async () => ({ rows: [], ...(asked.length === 0 ? { ask: "always" } : { security: "deny" }) }),
    };
    const patch = { rules, asked, answer: "allow-once" } as const;
    const result = await follow("submit", id, { text: "too late" }, patch);
    expect([asked, result.isError]).toEqual([["too late"], true]);
    expect(textOf(result)).toContain("switched off");
    await follow("write", id, { data: "end", eof: true });
    expect(await rest(id)).toBe("end");
  });

  it("is missing for one that was not meant for the background", async () => {
    const id = idOf(await call("exec", { command: "sleep 60", yieldMs: 10 }));
    expect(textOf(await follow("write", id, { data: "x" }))).toContain("no open input");
  });

  it("does not block the call when nobody reads it", async () => {
    const id = await start("sleep 60");
    await follow("write", id, { data: "x".repeat(60_000) });
    await follow("write", id, { data: "x".repeat(60_000) });
    const results = await Promise.all([1, 2, 3, 4].map(() => follow("write", id, { data: "x".repeat(60_000) })));
    expect(results.map(textOf).join()).toContain("has not read all of this input yet");
  });

  it("is answered by a command whose few letters also begin a secret", async () => {
    Secret.remember("ye5-2b7d90c1e4");
    const id = await start("cat");
    await follow("write", id, { data: "y" });
    expect(textOf(await follow("poll", id, { timeout: 30_000 }))).toMatch(/^y\n/);
    await follow("write", id, { data: "e5-2b7d90c1e4 ye5-", eof: true });
    const end = await rest(id);
    expect(end).toContain("[secret] ye5-");
    expect(end).not.toContain("2b7d90c1e4");
  });

  it("is asked about where commands are", async () => {
    const asked: string[] = [];
    const exec = { security: "allowlist", ask: "on-miss" } as const;
    const id = await start("cat");
    expect(textOf(await follow("submit", id, { text: "rm x" }, { exec, asked }))).toContain("a person refused");
    const allowed = { exec, asked, answer: "allow-once" } as const;
    const typed = await follow("send-keys", id, { literal: "y", keys: ["Enter"] }, allowed);
    expect(textOf(typed)).toBe("Wrote 2 bytes to it.");
    expect(asked).toEqual(["rm x", "y[Enter]"]);
    expect(textOf(await follow("poll", id, { timeout: 30_000 }))).toMatch(/^y/);
    expect((await follow("submit", id, {}, { exec: { security: "deny" } })).isError).toBe(true);
    expect((await follow("submit", id, {}, { exec: { security: "allowlist", ask: "off" } })).isError).toBe(true);
  });
});

describe("the input of a background command in a sandbox that lets nothing out", () => {
  const exec = { security: "allowlist", ask: "on-miss" } as const;
  const untrusted = async () => [{ tool: "page", source: "wiki" }];
  const asks = async (id: string, patch: Patch = {}) => {
    const asked: string[] = [];
    await follow("submit", id, { text: "x" }, { exec, asked, ...patch });
    return asked;
  };

  it("is asked about only where its commands are", async () => {
    const id = await start("cat", {}, { exec, boundary: { isIsolated: () => true, writesWorkspace: true } });
    expect(await asks(id)).toEqual([]);
    expect(await asks(id, { exec: { ...exec, ask: "always" } })).toEqual(["x"]);
    expect(await asks(id, { untrusted })).toEqual(["x"]);
    const apart = await start("cat", {}, { exec, boundary: { isIsolated: () => true } });
    expect(await asks(apart, { untrusted })).toEqual([]);
    const open = await start("cat", {}, { boundary: { isIsolated: () => false } });
    expect(await asks(open)).toEqual(["x"]);
  });
});

describe("the input of a background command where commands run without a question", () => {
  const FULL = { exec: { security: "full", ask: "off" } } as const;
  const OUTSIDE = { ...FULL, elevation: { level: "full" } } as const;
  const GUEST: Acting["principal"] = { kind: "sender", id: "telegram:43" };
  const write = async (id: string, patch: Patch) => {
    const asked: string[] = [];
    return { asked, text: textOf(await follow("write", id, { data: "rm -r x" }, { ...FULL, ...patch, asked })) };
  };

  it("is asked about once the conversation has read untrusted content", async () => {
    const id = await start("cat", {}, FULL);
    expect(await write(id, {})).toMatchObject({ asked: [], text: expect.stringContaining("Wrote 7 bytes") });
    const untrusted = async () => [{ tool: "page", source: "wiki" }];
    const { asked, text } = await write(id, { untrusted });
    expect(asked).toEqual(["rm -r x"]);
    expect(text).toContain("a person refused it");
  });

  it("counts as a command outside of the sandbox when the command left it", async () => {
    const id = await start("cat", { elevated: true }, OUTSIDE);
    expect((await write(id, OUTSIDE)).asked).toEqual([]);
    for (const level of ["ask", "request"] as const)
      expect((await write(id, { elevation: { level } })).asked).toEqual(["rm -r x"]);
    expect((await write(id, { elevation: { level: "off" } })).text).toContain("do not leave the sandbox");
    expect((await write(id, {})).text).toContain("whoever wrote this turn may not let a command leave the sandbox");
  });

  it("is asked about in a guest's turn when the command left the sandbox", async () => {
    const acting = { principal: GUEST };
    const id = await start("cat", { elevated: true }, { ...OUTSIDE, acting, answer: "allow-once" });
    expect((await write(id, { ...OUTSIDE, acting })).asked).toEqual(["rm -r x"]);
  });
});

describe("who may see a background command", () => {
  const guest = (session: string): Patch => ({
    acting: { principal: { kind: "sender", id: "43" }, sessionKey: sessionKey(session) },
  });

  it("is every owner's turn of the agent, and guests' turns only those of their own conversation", async () => {
    const owners = await start("sleep 60");
    const guests = await start("sleep 60", {}, guest("s1"));
    const list = async (patch: Patch = {}) => textOf(await call("process", { action: "list" }, patch));
    expect(await list()).toContain(owners);
    expect(await list()).toContain(guests);
    expect(await list(guest("s1"))).not.toContain(owners);
    expect(await list(guest("s1"))).toContain(guests);
    expect(await list(guest("s2"))).toBe("No command runs in the background.");
    for (const action of ["poll", "log", "write", "send-keys", "submit", "paste", "kill", "clear", "remove"]) {
      expect(textOf(await follow(action, owners, { data: "x", text: "x", keys: ["Up"] }, guest("s1")))).toContain(
        "There is no process",
      );
      expect((await follow(action, guests, {}, guest("s2"))).isError).toBe(true);
    }
    expect(processes.all().map((one) => one.status)).toEqual(["running", "running"]);
  });
});

describe("a terminal", () => {
  it("is what a command gets with pty", async () => {
    const id = await start("test -t 0 && test -t 1 && echo in a terminal; stty -echo; read x; echo got $x", {
      pty: true,
    });
    expect(textOf(await follow("poll", id, { timeout: 30_000 }))).toContain("in a terminal");
    await follow("submit", id, { text: "it" });
    expect(await rest(id)).toContain("got it");
    // Before the program has the terminal, the key reaches nobody.
    const cat = await start("echo ready; cat", { pty: true });
    expect(textOf(await follow("poll", cat, { timeout: 30_000 }))).toContain("ready");
    await follow("send-keys", cat, { keys: ["C-c"] });
    expect(await rest(cat)).toContain("^C");
  });

  it.runIf(process.platform === "linux")(
    "is out of reach of every other command, in a terminal of its own or not",
    async () => {
      await start("cat", { pty: true });
      const look = { command: "ls -l /proc/self/fd /proc/self/fd/../../self/fdinfo | grep -v ' [012] ->'; echo end" };
      for (const more of [{}, { pty: true }]) {
        const said = textOf(await call("exec", { ...look, ...more }));
        expect(said).toContain("end");
        expect(said).not.toMatch(/ptmx|pts\/ptmx/);
      }
    },
  );

  it("ends with its process, as when the gateway is killed", async () => {
    const id = await start("echo $PPID $$; sleep 60", { pty: true });
    const said = textOf(await follow("poll", id, { timeout: 30_000 }));
    const [holder = 0, shell = 0] = said.split(/\s+/).map(Number);
    expect(holder).not.toBe(process.pid);
    process.kill(holder, "SIGKILL");
    await rest(id);
    await until(() => !isAlive(shell));
  });

  it("dies with all that it started", async () => {
    const id = await start("sleep 60 & echo $!; sleep 60", { pty: true });
    const pid = Number.parseInt(textOf(await follow("poll", id, { timeout: 30_000 })), 10);
    await follow("kill", id);
    await until(() => !isAlive(pid));
    const result = await call("exec", { command: "exit 4", pty: true });
    expect(result.details).toMatchObject({ status: "failed", exitCode: 4 });
  });
});

describe("variables of a call", () => {
  it("are added, unless they decide what programs load or what the operator decides", async () => {
    const env = { GREETING: "it's me", TZ: "Etc/GMT+3" };
    expect(textOf(await call("exec", { command: 'echo "$GREETING $TZ"', env }))).toMatch(/^it's me Etc\/GMT\+3\n/);
    const bad = { LD_PRELOAD: "x", PATH: "/evil", https_proxy: "x", GIT_SSH_COMMAND: "x", "A B": "x", OK: "x" };
    const result = await call("exec", { command: "touch made", env: bad });
    expect(textOf(result)).toContain("env must not set A B, GIT_SSH_COMMAND, LD_PRELOAD, PATH, https_proxy.");
    expect(result.isError).toBe(true);
    await expect(readFile(join(workspace, "made"))).rejects.toThrow();
  });

  it("are a part of the question about the command", async () => {
    const asked: string[] = [];
    const exec = { security: "allowlist", ask: "on-miss" } as const;
    await call("exec", { command: "echo hi", env: { A: "it's" } }, { exec, asked });
    expect(asked).toEqual([String.raw`A='it'\''s' echo hi`]);
  });
});

describe("secrets of this process", () => {
  const secret = new Secret("a-very-secret-value-4711").reveal();
  const halves = [secret.slice(0, 9), secret.slice(9)];

  it("are in no output, also when they come in two pieces", async () => {
    const command = `printf 'x ${halves[0]}'; sleep 0.3; printf '%s y\\n' '${halves[1]}'; echo ${halves.join("''")}`;
    const updates: string[] = [];
    const result = await call("exec", { command }, { updates });
    expect(textOf(result)).toBe("x [secret] y\n[secret]\n\n[exit code 0]");
    expect(JSON.stringify([result, updates])).not.toContain(halves[0]);
    const id = await start(command);
    expect(await rest(id)).toContain("[secret] y");
    expect(textOf(await follow("log", id))).toMatch(/^x \[secret\] y\n\[secret\]\n/);
    const inTerminal = textOf(await call("exec", { command, pty: true }));
    expect(inTerminal).toContain("x [secret] y\n[secret]");
  });

  it("are masked where the other stream writes between their pieces, and its text comes in its order", async () => {
    const [short, rest] = [secret.slice(0, 2), secret.slice(2)];
    const pause = "sleep 0.3";
    const between = `printf 'x ${short}'; ${pause}; echo other >&2; ${pause}; printf '%s y\\n' '${rest}'`;
    expect(textOf(await call("exec", { command: between }))).toBe(`x ${short}other\n[secret] y\n\n[exit code 0]`);
    const plain = `printf 'it was a'; ${pause}; echo other >&2; ${pause}; printf ' day'`;
    expect(textOf(await call("exec", { command: plain }))).toBe("it was aother\n day\n\n[exit code 0]");
    const longer = `printf '${halves[0]}'; ${pause}; echo other >&2; ${pause}; printf '${halves[1]}'`;
    expect(textOf(await call("exec", { command: longer }))).toBe("other\n[secret]\n\n[exit code 0]");
  });

  it("are not in the file of a long output", async () => {
    const command = `for i in $(seq 4000); do echo "$i ${halves.join("''")} and more"; done`;
    const text = textOf(
      await call("exec", { command: command.replaceAll('"$i', '"$i"').replace(' and more"', '" and more"') }),
    );
    const file = /All of it is in (.*)\.\]/.exec(text)?.[1] ?? "";
    const all = await readFile(file, "utf8");
    expect(all).not.toContain(halves[0]);
    expect(all.split("\n")).toHaveLength(4001);
    expect(text).not.toContain(halves[0]);
  });

  it("leave other text as it is, whatever the pieces", async () => {
    const command = "for w in a a-very- a-very-secret-valu x; do printf %s $w; sleep 0.05; done";
    expect(textOf(await call("exec", { command }))).toBe("aa-very-a-very-secret-valux\n\n[exit code 0]");
  });
});
