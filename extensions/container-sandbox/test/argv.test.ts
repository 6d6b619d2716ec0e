import { mkdirSync, mkdtempSync, readdirSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Launch, View } from "openclaw/plugin-sdk";
import { describe, expect, it } from "vitest";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import { SandboxMachine } from "../../../src/tools/sandbox/machine.ts";
import { sandboxSettings } from "../../../src/tools/sandbox/settings.ts";
import { fakeProgram } from "../../../test/tools/sandbox/fake-program.ts";
import { containerLaunch } from "../launch.ts";

const LAUNCH = {
  argv: ["/bin/sh", "-c", "echo hi"],
  cwd: "/w",
  env: { HOME: "/home/ada", LANG: "C", TMP: "/x" },
} as const;
const VIEW: View = {
  mounts: [
    { path: "/w", as: "rw" },
    { path: "/w/.git/hooks", as: "ro" },
    { path: "/w/state", as: "empty" },
    { path: "/w/key", as: "blank" },
  ],
  links: [{ at: "/named", to: "/w" }],
};
const settings = (config: SandboxConfig) => sandboxSettings(config, {}, { home: "/home/ada", stateDir: "/s" });

describe("a command for docker or podman", () => {
  const facts = {
    program: "/usr/bin/docker",
    backend: "docker",
    user: "1:2",
    keepsId: false,
    holdsLimits: true,
    profile: "/p",
  } as const;
  const place = { name: "n", labels: { "openclaw.agent": "main" }, detachKeys: "ctrl-_,x", env: { PATH: "/usr/bin" } };
  const started = (docker: SandboxConfig["docker"] = {}, launch: Launch = LAUNCH, view = VIEW) =>
    containerLaunch(launch, view, { ...place, facts, settings: settings({ docker }) });
  const run = (docker: SandboxConfig["docker"] = {}) => started(docker).argv.join(" ");

  it("is closed unless the settings say otherwise", () => {
    const said = run();
    for (const part of ["--network none", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--rm"])
      expect(said).toContain(part);
    for (const part of ["--pull never", "--log-driver none", "seccomp=/p", "--detach-keys ctrl-_,x"])
      expect(said).toContain(part);
    expect(said).toContain("--user 1:2");
    expect(said).toContain("type=bind,source=/w/.git/hooks,target=/w/.git/hooks,readonly");
    expect(said).toContain("type=tmpfs,target=/w/state,ro");
    expect(said).toContain("--tmpfs /home/ada:exec,mode=1777,size=512m");
    expect(said).toMatch(/openclaw-sandbox:bookworm-slim -c .*; exec "\$@" 2>&1 sh \/bin\/sh -c echo hi$/);
  });

  it("sees a directory also at the path by which the settings name it", () => {
    expect(run()).toContain("source=/w/.git/hooks,target=/named/.git/hooks,readonly");
  });

  it("shows its variables neither in the arguments nor to the engine's client by their names", () => {
    const env = { TOKEN: "s3cret", CONTAINERS_CONF: "/w/evil", "odd.name": "x", PATH: "/opt" };
    const { argv, env: ofClient } = started({ env: { OWN: "own value" } }, { ...LAUNCH, env });
    expect(argv.join(" ")).not.toMatch(/s3cret|evil|own value|\/opt|odd/);
    expect(Object.keys(ofClient).filter((name) => !name.startsWith("OPENCLAW_VARIABLE_"))).toEqual(["PATH"]);
    expect(ofClient).toMatchObject({
      PATH: "/usr/bin",
      OPENCLAW_VARIABLE_0: "s3cret",
      OPENCLAW_VARIABLE_4: "own value",
    });
    expect(argv.join(" ")).toContain(
      'export TOKEN="$OPENCLAW_VARIABLE_0" CONTAINERS_CONF="$OPENCLAW_VARIABLE_1" HOME=',
    );
  });

  it.each(["/a,b", '/a"b', "/a\nb"])("has a directory with the name %j", (path) => {
    const { argv } = started({}, LAUNCH, { mounts: [{ path, as: "rw" }], links: [] });
    const quoted = path.replaceAll('"', '""');
    expect(argv).toContain(`type=bind,"source=${quoted}","target=${quoted}"`);
  });

  it("has every setting of its container", () => {
    const said = run({
      image: "mine:1",
      network: "apart",
      user: "5:6",
      readOnlyRoot: false,
      tmpfs: ["/scratch", "/other:size=1m"],
      capDrop: ["NET_RAW"],
      pidsLimit: 11,
      memory: "9m",
      cpus: 0.5,
      binds: ["/data:/data:ro"],
    });
    const parts = "mine:1|--network apart|--user 5:6|--tmpfs /scratch:exec|--cap-drop NET_RAW|--pids-limit 11";
    for (const part of [...parts.split("|"), "--tmpfs /other:size=1m ", "--memory 9m", "--cpus 0.5"])
      expect(said).toContain(part);
    expect(said).toContain("--volume /data:/data:ro");
    expect(said).not.toContain("--read-only");
  });

  it("keeps its user's number in a podman without root, and has no limits that it cannot hold", () => {
    const rootless = { ...facts, backend: "podman", keepsId: true, holdsLimits: false } as const;
    const { argv } = containerLaunch(LAUNCH, VIEW, { ...place, facts: rootless, settings: settings({}) });
    expect(argv.join(" ")).toContain("--userns keep-id");
    expect(argv.join(" ")).not.toMatch(/--memory|--pids-limit/);
    expect(run()).not.toContain("--userns");
  });
});

describe("an engine of containers that does not work", () => {
  const SAID: readonly (readonly [said: string, why: string, fix: string])[] = [
    [
      "Unable to find image 'mine:1' locally\ndocker: No such image: mine:1.",
      "has no image mine:1",
      "docker pull mine:1",
    ],
    ["Error: mine:1: image not known", "has no image mine:1", "docker pull mine:1"],
    [
      "docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
      "this user may not use docker",
      "usermod -aG docker",
    ],
    [
      "docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
      "does not run",
      "systemctl",
    ],
    [
      'Error: container-init binary not found on the host: exec: "catatonit": not found',
      "lacks the program",
      "catatonit",
    ],
    ['runc: exec: "/bin/sh": stat /bin/sh: no such file or directory', "has no /bin/sh", "docker.image"],
    ["docker: something else.\n\n", "docker failed: docker: something else.", "docker run --rm mine:1 true"],
  ];
  const probe = async (lines: string) => {
    const dir = mkdtempSync(join(tmpdir(), "engine-"));
    fakeProgram(join(dir, "bin"), "docker", lines);
    const machine = new SandboxMachine({
      env: { PATH: `${dir}/bin:/usr/bin:/bin` },
      dir,
      contributions: bundledContributions(),
    });
    return { dir, found: await machine.probe(settings({ backend: "docker", docker: { image: "mine:1" } })) };
  };

  it.each(SAID)("is explained: %j", async (said, why, fix) => {
    const { found } = await probe(`cat >&2 <<'END'\n${said}\nEND\nexit 125`);
    expect(found).toEqual({ ok: false, why: expect.stringContaining(why), fix: expect.stringContaining(fix) });
  });

  it("is one whose containers write files that are not the gateway's", async () => {
    expect((await probe("exit 0")).found).toMatchObject({ ok: false, why: expect.stringContaining("as its user") });
  });

  it("leaves nothing of a trial, nor what an earlier trial left that was killed", async () => {
    const dir = mkdtempSync(join(tmpdir(), "engine-"));
    const [old, fresh] = ["sandbox-trial-old", "sandbox-trial-fresh"].map((name) => join(dir, name)) as [
      string,
      string,
    ];
    for (const one of [old, fresh]) mkdirSync(one);
    utimesSync(old, 1, 1);
    fakeProgram(join(dir, "bin"), "podman", "exit 1");
    const machine = new SandboxMachine({
      env: { PATH: `${dir}/bin:/usr/bin:/bin` },
      dir,
      contributions: bundledContributions(),
    });
    await machine.probe(settings({ backend: "podman" }));
    // Another gateway or command may be trying the same.
    expect(readdirSync(dir).filter((name) => name.startsWith("sandbox-trial"))).toEqual(["sandbox-trial-fresh"]);
  });
});
