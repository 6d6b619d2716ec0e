import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { until } from "../../kit/until.ts";
import { BACKENDS, useBackend } from "./engines.ts";
import { openGround, SECRET, type Ground } from "./fixture.ts";

/** The command lines of this machine's processes. */
const commandLines = (): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8")];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });

const SMALL = { bwrap: { fileSizeMb: 5, tmpMb: 3, processes: 40 }, docker: { pidsLimit: 40 } } as const;

describe.for(BACKENDS)("a command in a sandbox of %s", (name) => {
  const backend = useBackend(name);
  let ground: Ground;
  const outside = () => readFileSync(join(ground.home, "outside/note.txt"), "utf8");
  beforeEach(() => {
    ground = openGround(backend().env, backend().config);
    vi.stubEnv("HOME", ground.home);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    ground.close();
  });

  it("reads and writes its workspace, at the workspace's own path", async () => {
    writeFileSync(join(ground.workspace, "in.txt"), "hello");
    expect(await ground.says(`cat in.txt; pwd; cat ${ground.workspace}/in.txt > out.txt`)).toBe(
      `hello${ground.workspace}`,
    );
    expect(readFileSync(join(ground.workspace, "out.txt"), "utf8")).toBe("hello");
  });

  it.each(["~/.ssh/id_rsa", "~/.openclaw/openclaw.json", "~/.openclaw/credentials/gateway-token", "/etc/shadow"])(
    "cannot read %s",
    async (path) => {
      const { output, code } = await ground.run(`cat ${path}`);
      expect(code).not.toBe(0);
      expect(output.text).toMatch(/No such file|Permission denied/);
      expect(output.text).not.toContain(SECRET);
    },
  );

  it("cannot read the rest of the machine through /proc, from its first process or its parent", async () => {
    const { home } = ground;
    const roots = ["/proc/1/root", "/proc/self/root", "/proc/$PPID/root", "/proc/1/cwd/../../.."];
    const said = await ground.says(roots.map((root) => `cat ${root}${home}/.ssh/id_rsa`).join("; "));
    expect(said).toContain("No such file");
    expect(said).not.toContain(SECRET);
  });

  it("cannot write outside its workspace, and what it leaves in its home directory is gone", async () => {
    const { home } = ground;
    const places = [`${home}/outside/note.txt`, "/usr/bin/new", "/etc/new", "/new", "/proc/sys/kernel/core_pattern"];
    for (const place of places) expect((await ground.run(`echo changed > ${place}`)).code).not.toBe(0);
    expect((await ground.run(`mkdir -p ${home}/outside && echo changed > ${home}/outside/note.txt`)).code).toBe(0);
    expect(outside()).toBe(SECRET);
  });

  it("cannot follow a symbolic link out of its workspace", async () => {
    symlinkSync(join(ground.home, ".ssh"), join(ground.workspace, "away"));
    const said = await ground.says(`cat away/id_rsa; ln -s ${ground.home}/outside/note.txt own; cat own; echo x > own`);
    expect(said).toContain("No such file");
    expect(said).not.toContain(SECRET);
    expect(outside()).toBe(SECRET);
  });

  it("cannot make a second name for a file outside", async () => {
    const said = await ground.says(`ln ${ground.home}/.ssh/id_rsa stolen; ln /etc/passwd stolen; ls`);
    expect(said).not.toMatch(/^stolen$/m);
  });

  it("cannot use the gateway's port, nor any other of the machine", async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.end(SECRET);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const connect = `exec 5<>/dev/tcp/127.0.0.1/${port} && cat <&5`;
    const said = await ground.says(`bash -c '${connect}' 2>&1; echo end`);
    await new Promise((resolve) => server.close(resolve));
    expect(said).toMatch(/refused|unreachable/);
    expect(said).toMatch(/end$/);
    expect(connections).toBe(0);
  });

  it("cannot use a Unix socket, even one in its workspace", async () => {
    let connections = 0;
    const server = createServer(() => (connections += 1));
    const path = join(ground.workspace, "door.sock");
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const call = `import socket; socket.socket(socket.AF_UNIX).connect("door.sock")`;
    const said = await ground.says(`python3 -c '${call}' || echo refused`);
    await new Promise((resolve) => server.close(resolve));
    expect(said).toMatch(/refused$/);
    expect(connections).toBe(0);
  });

  it("cannot send to a datagram socket in its workspace by one end of a pair, and may have other pairs", async () => {
    const receive = `import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("letters"); print("ready", flush=True); print(s.recv(9))`;
    const server = spawn("python3", ["-c", receive], { cwd: ground.workspace, stdio: ["ignore", "pipe", "inherit"] });
    await once(server.stdout, "data");
    const call = [
      `import socket; socket.socketpair(); socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); print("pairs")`,
      `socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"${SECRET}", "letters"); print("sent")`,
    ];
    const said = await ground.says(`python3 -c '${call.join("; ")}'`);
    server.kill();
    expect(said).toContain("pairs");
    expect(said).toContain("not supported");
    expect(said).not.toMatch(/^sent/m);
  });

  it("sees no process of the machine and cannot end one", async () => {
    const said = await ground.says(`kill -9 ${process.pid}; kill -9 $PPID; kill -9 -1; ls /proc | grep -c '^[0-9]'`);
    expect(process.exitCode).toBeUndefined();
    const count = Number(/\d+$/.exec(said)?.[0] ?? "0");
    expect(count).toBeLessThan(10);
  });

  it("mounts nothing whose place another running command could change", async () => {
    const { workspace } = ground;
    mkdirSync(join(workspace, ".idea"));
    writeFileSync(join(workspace, ".npmrc"), "");
    const mounts = async () => {
      const said = await ground.says("grep -o ' /[^ ]*/workspace/[^ ]* ' /proc/self/mountinfo; echo end");
      return said.split("\n").flatMap((line) => /workspace\/(\S+)/.exec(line)?.[1] ?? []);
    };
    const stop = new AbortController();
    const other = ground.run("mkdir .vscode .git; echo > .envrc; echo > ready; sleep 60", {}, { signal: stop.signal });
    await until(() => existsSync(join(workspace, "ready")));
    expect((await mounts()).toSorted()).toEqual([
      ".idea",
      ".npmrc",
      ".openclaw",
      ".openclaw/output",
      "memory",
      "skills",
    ]);
    stop.abort();
    await other;
    mkdirSync(join(workspace, ".vscode"));
    expect(await mounts()).toContain(".vscode");
  });

  it("shows no file to which a link leads in the place of one that the config lets commands see", async () => {
    const { workspace, home } = ground;
    mkdirSync(join(workspace, "extra"));
    const binds = [join(workspace, "extra")];
    symlinkSync(join(home, "outside"), join(workspace, "away"));
    const said = await ground.says(`cat away/note.txt ${home}/outside/note.txt; ls -d extra`, {
      bwrap: { binds: [...binds, join(workspace, "away")] },
    });
    expect(said).not.toContain(SECRET);
    expect(said).toContain("extra");
  });

  it("has no capability, and cannot mount, trace or make a namespace of its own", async () => {
    const said = await ground.says("grep CapEff /proc/self/status; unshare -Ur true; mount -t tmpfs x /tmp; echo end");
    expect(said).toMatch(/CapEff:\s+0{16}/);
    expect(said.match(/not permitted|denied|must be superuser/g)).toHaveLength(2);
  });

  it("has none of the gateway's variables", async () => {
    vi.stubEnv("OPENAI_API_KEY", SECRET);
    vi.stubEnv("OPENCLAW_GATEWAY_TOKEN", SECRET);
    vi.stubEnv("OPENCLAW_STATE_DIR", ground.state);
    const said = await ground.says("env; tr '\\0' '\\n' < /proc/1/environ");
    expect(said).toContain("OPENCLAW_SHELL=exec");
    expect(said).not.toContain(SECRET);
    expect(said).not.toContain("OPENCLAW_STATE_DIR");
  });

  // Without an engine, the kernel does not count the processes of root.
  it.skipIf(name === "bwrap" && process.getuid?.() === 0)("cannot have more processes than the limit", async () => {
    const said = await ground.says("for i in $(seq 1 80); do sleep 5 & done; ls /proc | grep -c '^[0-9]'", SMALL);
    expect(Number(/\d+$/.exec(said)?.[0] ?? "0")).toBeLessThan(45);
  });

  it("cannot write a file that is larger than the limit, nor fill the memory behind /tmp", async () => {
    await ground.run("dd if=/dev/zero of=big bs=1M count=20", SMALL);
    expect(readFileSync(join(ground.workspace, "big")).length).toBe(5 * 1_048_576);
    expect(await ground.says("dd if=/dev/zero of=/tmp/a bs=1M count=4", SMALL)).toContain("No space left");
  });

  it("leaves no program behind when it ends, or is stopped", async () => {
    const mark = `7${process.pid}`;
    const running = () => commandLines().some((line) => line.includes(mark));
    const { left } = await ground.run(`(sleep ${mark} &); echo started`);
    expect(left).toEqual([]);
    await until(() => !running());
    const stop = new AbortController();
    const run = ground.run(`sleep ${mark}`, {}, { signal: stop.signal });
    await until(running);
    stop.abort();
    expect((await run).because).toBe("abort");
    await until(() => !running());
  });

  it("cannot change what programs outside obey: Git's hooks and settings, and shells' files", async () => {
    for (const dir of [".git/hooks", ".vscode"]) mkdirSync(join(ground.workspace, dir), { recursive: true });
    const files = [".git/hooks/pre-commit", ".git/config", ".bashrc", ".envrc", ".vscode/tasks.json"];
    for (const file of files) writeFileSync(join(ground.workspace, file), "as it was");
    await ground.says(files.map((file) => `echo changed > ${file}; rm -f ${file}`).join("; "));
    await ground.says("mv .git old; rm -rf .git; mv .vscode old");
    for (const file of files) expect(readFileSync(join(ground.workspace, file), "utf8")).toBe("as it was");
    expect((await ground.run("echo ref > .git/HEAD")).code).toBe(0);
  });

  it("does not get a second name of a secret that lies in its workspace by the file tools", async () => {
    symlinkSync(join(ground.home, ".ssh"), join(ground.workspace, "away"));
    linkSync(join(ground.state, "openclaw.json"), join(ground.workspace, "linked"));
    const { files } = ground.backends();
    await expect(files.locate("away/id_rsa", ground.workspace, "read")).rejects.toThrow(/outside|workspace/);
    await expect(files.open("linked", ground.workspace)).rejects.toThrow();
  });
});
