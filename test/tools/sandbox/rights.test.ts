import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { execTool } from "../../../src/tools/exec.ts";
import { whyBwrapFails } from "../../../src/tools/sandbox/probe.ts";
import { viewOf } from "../../../src/tools/sandbox/view.ts";
import { sandboxSettings } from "../../../src/tools/sandbox/settings.ts";
import { folderOf } from "../../../src/tools/sandbox/folders.ts";
import type { ToolContext } from "../../../src/types/run/tool.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";
import { fakeProgram } from "./fake-program.ts";
import { openGround, whyNoBwrap, type Ground } from "./fixture.ts";

let ground: Ground;
beforeEach(() => {
  ground = openGround();
  vi.stubEnv("HOME", ground.home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  ground.close();
});

const GUEST = {
  prompts: { workspaces: [], roots: [] },
  received: { dir: "/nonexistent/media", own: async () => new Set<string>() },
  notes: [],
};

describe.skipIf(whyNoBwrap !== undefined)(`a sandboxed session (${whyNoBwrap ?? "bubblewrap works"})`, () => {
  it("works in a folder of its own where nothing is visible of the workspace", async () => {
    writeFileSync(join(ground.workspace, "MEMORY.md"), "of the agent");
    const none = { workspaceAccess: "none" } as const;
    expect(await ground.says(`cat ${ground.workspace}/MEMORY.md; ls; echo mine > note.txt`, none)).not.toContain(
      "of the agent",
    );
    const { files } = ground.backends(none);
    await expect(files.open(`${ground.workspace}/MEMORY.md`, ground.workspace)).rejects.toThrow();
    const path = await files.locate("note.txt", ground.workspace, "read");
    expect(readFileSync(path, "utf8")).toBe("mine\n");
    await files.replace({ path: "other.txt", content: "by a tool" }, ground.workspace);
    expect(await ground.says("cat other.txt", none)).toBe("by a tool");
    expect(existsSync(join(ground.workspace, "other.txt"))).toBe(false);
  });

  it("reads a read-only workspace, and writes only in its folder", async () => {
    writeFileSync(join(ground.workspace, "in.txt"), "as it was");
    const ro = { workspaceAccess: "ro" } as const;
    const owner = { agentId: "main", sessionKey: "s1" };
    const places = { home: ground.home, stateDir: ground.state };
    const folder = folderOf(sandboxSettings({ mode: "all", ...ro }, {}, places), owner);
    const said = await ground.says(`cat in.txt; echo x > in.txt; echo kept > ${folder}/out.txt`, ro);
    expect(said).toContain("as it was");
    expect(said).toContain("Read-only file system");
    expect(readFileSync(join(folder, "out.txt"), "utf8")).toBe("kept\n");
    const { files } = ground.backends(ro);
    await expect(files.replace({ path: "in.txt", content: "x" }, ground.workspace)).rejects.toThrow(/read-only/);
    expect(readFileSync(join(ground.workspace, "in.txt"), "utf8")).toBe("as it was");
  });

  it("creates, removes and keeps files in its folder alone, and none in a read-only workspace", async () => {
    writeFileSync(join(ground.workspace, "in.txt"), "as it was");
    const { files } = ground.backends({ workspaceAccess: "none" });
    const apart = files.confined();
    await apart.create({ path: "new.txt", content: "made" }, ground.workspace);
    expect(await ground.says("cat new.txt", { workspaceAccess: "none" })).toBe("made");
    await apart.remove("new.txt", ground.workspace);
    expect(existsSync(join(ground.workspace, "new.txt"))).toBe(false);
    const kept = await files.keep("a long result");
    const read = await files.open(kept, ground.workspace);
    expect((await read.stat()).size).toBe(13);
    await read.close();
    // A command can read it, and cannot change what the gateway will show.
    const said = await ground.says(`cat ${kept}; echo x >> ${kept}`, { workspaceAccess: "none" });
    expect(said).toContain("a long result");
    expect(readFileSync(kept, "utf8")).toBe("a long result");
    const closed = ground.backends({ workspaceAccess: "ro" }).files.confined();
    await expect(closed.create({ path: "new.txt", content: "x" }, ground.workspace)).rejects.toThrow(/read-only/);
    await expect(closed.remove("in.txt", ground.workspace)).rejects.toThrow(/read-only/);
    expect(readFileSync(join(ground.workspace, "in.txt"), "utf8")).toBe("as it was");
  });

  it("does not let a guest's command write the workspace, even one that is writable", async () => {
    const { exec } = ground.backends({}, { rights: GUEST });
    const cwd = await exec.directory(".", ground.workspace);
    const running = await exec.start({ command: "echo x > AGENTS.md", cwd, timeoutMs: 9000, input: "none" });
    expect((await running.ended).code).not.toBe(0);
    expect(existsSync(join(ground.workspace, "AGENTS.md"))).toBe(false);
  });

  it("is told where its commands can write when they may only read the workspace", async () => {
    for (const [config, rights] of [
      [{ workspaceAccess: "ro" }, "owner"],
      [{}, GUEST],
    ] as const) {
      const { exec } = ground.backends(config, { rights });
      const [, variable = ""] = /write only in the folder \$(\w+)/.exec(exec.note ?? "") ?? [];
      const cwd = await exec.directory(".", ground.workspace);
      const command = `echo x > "$${variable}/out" && echo "$${variable}"`;
      const running = await exec.start({ command, cwd, timeoutMs: 9000, input: "none" });
      expect((await running.ended).output.text).toBe(`${ground.state}/sandboxes/agent-main\n`);
      expect(readFileSync(join(ground.state, "sandboxes/agent-main/out"), "utf8")).toBe("x\n");
    }
  });

  it("keeps its file tools in the workspace, whatever tools.fs.workspaceOnly says", async () => {
    const { files } = ground.backends();
    await expect(files.open(join(ground.home, "outside/note.txt"), ground.workspace)).rejects.toThrow();
    await expect(
      files.replace({ path: join(ground.home, "outside/note.txt"), content: "x" }, ground.workspace),
    ).rejects.toThrow();
  });

  it("is refused a directory with credentials that the settings would give it", async () => {
    for (const path of [join(ground.home, ".ssh"), ground.home, "/etc", "/"])
      await expect(ground.run("true", { bwrap: { binds: [path] } })).rejects.toThrow(/cannot have/);
  });

  it("is refused a bind of an engine that holds the gateway's files, and a network that leads to the machine's", async () => {
    const state = join(ground.home, ".openclaw");
    for (const path of [state, join(state, "credentials"), join(state, "openclaw.json"), join(state, "state/x")])
      await expect(ground.run("true", { docker: { binds: [`${path}:/x:ro`] } })).rejects.toThrow(/gateway's files/);
    await ground.run("true", { docker: { binds: [`${ground.workspace}:/x:ro`] } });
    for (const network of ["host", "container:x", "ns:/proc/1/ns/net", "slirp4netns:allow_host_loopback=true"])
      await expect(ground.run("true", { docker: { network } })).rejects.toThrow(/reaches services/);
  });

  const permitted = async (
    config: Parameters<Ground["backends"]>[0],
    ask: "on-miss" | "always" = "on-miss",
    context: Pick<ToolContext, "untrusted"> = {},
  ) => {
    const settings = agentSettings(ground.workspace, { exec: { security: "allowlist", ask } }).exec;
    const { exec } = ground.backends(config);
    await exec.directory(".", ground.workspace);
    const asked: string[] = [];
    const tool = execTool({ settings, rules: noRules, backend: exec, hasOwnerRights: true });
    const result = await tool.run(
      { command: "mkdir -p made && echo ran" },
      toolContext(ground.workspace, { ...context, asked }),
    );
    return { asked: asked.length > 0, ran: textOf(result).includes("ran\n") };
  };

  it("runs commands without asking when they can do nothing outside", async () => {
    expect(await permitted({})).toEqual({ asked: false, ran: true });
    expect(await permitted({ bwrap: { network: "host" } })).toMatchObject({ asked: true });
    expect(await permitted({ bwrap: { binds: ["/var/tmp:rw"] } })).toMatchObject({ asked: true });
    expect(await permitted({}, "always")).toMatchObject({ asked: true });
  });

  it("asks once the conversation has read untrusted content, where commands could change files that shape later turns", async () => {
    const untrusted = { untrusted: async () => [{ tool: "page", source: "wiki" }] };
    expect(await permitted({ workspaceAccess: "rw" }, "on-miss", untrusted)).toEqual({ asked: true, ran: false });
    for (const workspaceAccess of ["none", "ro"] as const) {
      const cwd = { workspaceAccess };
      expect((await permitted(cwd, "on-miss", untrusted)).asked).toBe(false);
    }
  });
});

it("gives no sandbox the home directory, as a workspace or what contains it", async () => {
  const { home } = ground;
  for (const path of [home, dirname(home)]) {
    await expect(viewOf({ writable: [path], readable: [], hidden: [], home })).rejects.toThrow(/workspace of its own/);
    await expect(viewOf({ writable: [], readable: [path], hidden: [], home })).rejects.toThrow(/workspace of its own/);
  }
});

describe("a sandbox that does not work on this machine", () => {
  const refusal = async (env: NodeJS.ProcessEnv): Promise<string> => {
    const broken = openGround(env);
    try {
      const { exec, files } = broken.backends();
      const told = await exec.directory(".", broken.workspace).catch((error: Error) => error.message);
      await expect(files.open("a", broken.workspace)).rejects.toThrow(told);
      const line = { command: "touch ran", cwd: broken.workspace, timeoutMs: 9000, input: "none" } as const;
      await expect(exec.start(line)).rejects.toThrow(told);
      expect(existsSync(join(broken.workspace, "ran"))).toBe(false);
      return told;
    } finally {
      broken.close();
    }
  };

  it("refuses commands and files with the cause and what mends it, where bwrap is missing", async () => {
    expect(await refusal({ PATH: "/nonexistent" })).toMatch(/bubblewrap is not installed.*apt install bubblewrap/s);
  });

  it("refuses them where bwrap cannot start a program", async () => {
    const lines = 'echo "bwrap: No permissions to create new namespace" >&2; exit 1';
    const bwrap = fakeProgram(join(ground.home, "bin"), "bwrap", lines);
    expect(await refusal({ PATH: "/usr/bin:/bin", OPENCLAW_BWRAP: bwrap })).toMatch(/does not work.*namespaces/s);
  });

  it.each([
    ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "/etc/apparmor.d/bwrap"],
    ["/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"],
    ["/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces="],
  ])("names the kernel's setting %s, and the line that changes it", async (setting, value, line) => {
    const read = async (path: string) => (path === setting ? `${value}\n` : "");
    const { why, fix } = await whyBwrapFails("bwrap: setting up uid map: Permission denied", read);
    expect(why).toContain(setting);
    expect(fix).toContain(line);
  });
});
