import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bwrapLaunch, type BwrapFacts } from "../../../src/tools/sandbox/bwrap.ts";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import { SandboxMachine } from "../../../src/tools/sandbox/machine.ts";
import { seatbeltLaunch } from "../../../src/tools/sandbox/seatbelt.ts";
import { sandboxSettings } from "../../../src/tools/sandbox/settings.ts";
import { fakeProgram } from "./fake-program.ts";
import { refusedNames } from "../../../src/tools/variables.ts";
import type { View } from "../../../src/types/sandbox-engine.ts";

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
/** As a guest has it. */
const COPY: View = { mounts: [{ path: "/w", from: "/s/copies/1/tree", as: "ro" }], links: [] };
const FACTS: BwrapFacts = {
  program: "/usr/bin/bwrap",
  canSize: true,
  system: [{ path: "/usr" }, { path: "/bin", target: "usr/bin" }],
};
const settings = (config: SandboxConfig) => sandboxSettings(config, {}, { home: "/home/ada", stateDir: "/s" });
const bwrap = (config: SandboxConfig["bwrap"] = {}, facts: BwrapFacts = FACTS) =>
  bwrapLaunch(LAUNCH, VIEW, facts, settings({ bwrap: config }).bwrap);
const line = (...args: Parameters<typeof bwrap>) => bwrap(...args).argv.join(" ");

describe("a command for bwrap", () => {
  it("has every namespace of its own, no capability, and dies with the gateway", () => {
    for (const flag of ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop ALL"])
      expect(line()).toContain(flag);
    expect(line()).not.toContain("--share-net");
  });

  it("sees the system for reading, empty temporary directories, and last what the view lists", () => {
    expect(line()).toContain("--ro-bind /usr /usr --symlink usr/bin /bin");
    expect(line()).toMatch(
      /--tmpfs \/tmp .*--tmpfs \/home\/ada --bind \/w \/w --ro-bind \/w\/\.git\/hooks \/w\/\.git\/hooks/,
    );
    expect(line()).toContain("--tmpfs /w/state --remount-ro /w/state --ro-bind /dev/null /w/key");
    expect(line()).toContain("--symlink /w /named --remount-ro / --chdir /w --");
    expect(line()).not.toMatch(/bind \/ \/|\/etc\/shadow| \/root /);
  });

  it("sees a copy at the path of what it is a copy of", () => {
    const { argv } = bwrapLaunch(LAUNCH, COPY, FACTS, settings({}).bwrap);
    expect(argv.join(" ")).toContain("--ro-bind /s/copies/1/tree /w --remount-ro /");
    expect(argv.join(" ")).not.toContain("/w /w");
  });

  it("ends with the command as it was given, in the same environment without the gateway's directories", () => {
    const { argv, env } = bwrap();
    expect(argv.slice(-3)).toEqual([...LAUNCH.argv]);
    expect(env).toEqual({ HOME: "/home/ada", TMPDIR: "/tmp" });
  });

  it("gets its language inside only: files that such a variable names are not loaded by bwrap, which runs outside", () => {
    const env = { LC_ALL: "/w/evil", LANG: "/w/evil", LANGUAGE: "x", LC_CTYPE: "/w/evil", KEPT: "1" };
    const launch = bwrapLaunch({ ...LAUNCH, env }, VIEW, FACTS, settings({}).bwrap);
    expect(launch.env).toEqual({ HOME: "/tmp", KEPT: "1", TMPDIR: "/tmp" });
    expect(launch.argv.join(" ")).toContain(
      "--setenv LC_ALL /w/evil --setenv LANG /w/evil --setenv LANGUAGE x --setenv LC_CTYPE /w/evil --",
    );
    expect(refusedNames({ LOCPATH: "/w", NLSPATH: "/w", GETCONF_DIR: "/w", LC_ALL: "C" })).toEqual([
      "GETCONF_DIR",
      "LOCPATH",
      "NLSPATH",
    ]);
  });

  it("has the limits and the network that the settings say", () => {
    const limits = { cpuSeconds: 7, fileSizeMb: 2, memoryMb: 64, processes: 9 };
    expect(line(limits)).toContain(" sh 7 4096 65536 9 /bin/sh -c echo hi");
    expect(line({ tmpMb: 3 })).toContain("--size 3145728 --tmpfs /tmp");
    expect(line({ network: "host" })).toContain("--share-net");
    expect(line({ network: "host" })).toContain("/etc/resolv.conf");
    expect(line()).not.toContain("/etc/resolv.conf");
  });

  it("is started by a shell that opens the filter of system calls, where there is one", () => {
    const { argv } = bwrap({}, { ...FACTS, filter: "/s/seccomp.bpf" });
    expect(argv.slice(0, 5)).toEqual(["/bin/sh", "-c", expect.stringContaining("3<"), "/s/seccomp.bpf", FACTS.program]);
    expect(argv).toContain("--seccomp");
  });

  it("gets no limit of a temporary directory from a bwrap that knows none", () => {
    expect(line({}, { ...FACTS, canSize: false })).not.toContain("--size");
  });
});

describe("a command for sandbox-exec", () => {
  const made = (config: SandboxConfig = {}) =>
    seatbeltLaunch(LAUNCH, VIEW, { program: "/usr/bin/sandbox-exec", own: "/t/own" }, settings(config).bwrap);
  const profile = (config: SandboxConfig = {}) => made(config).argv[2] ?? "";
  /** The rule of a path, with how many rules come after it. */
  const rulesFor = (path: string) => {
    const at = made()
      .argv.find((arg) => arg.endsWith(`=${path}`))
      ?.slice(2)
      .split("=")[0];
    return profile()
      .split("\n")
      .flatMap((rule) => (rule.includes(`(param "${at}")`) ? [rule.replace(/ \(subpath.*/, "")] : []));
  };

  it("is denied what no rule allows, and the network unless the settings say otherwise", () => {
    expect(profile().split("\n").slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
    expect(profile()).not.toMatch(/network|subpath "\//);
    expect(profile({ bwrap: { network: "host" } })).toContain("(allow network*)");
  });

  it("sees what the view lists: of several rules the last one counts", () => {
    expect(rulesFor("/w")).toEqual(["(allow file-read* file-write*"]);
    expect(rulesFor("/w/.git/hooks")).toEqual(["(allow file-read*"]);
    expect(rulesFor("/w/state")).toEqual(["(deny file-read* file-write*"]);
    expect(rulesFor("/w/key")).toEqual(["(deny file-read* file-write*"]);
    const order = ["/usr", "/w", "/w/.git/hooks", "/w/state", "/t/own"].map((path) =>
      made().argv.findIndex((arg) => arg.endsWith(`=${path}`)),
    );
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(profile()).toContain("(deny file-write* (subpath");
  });

  it("cannot add a rule by the name of a directory", () => {
    const path = '/w/")(allow default)("';
    const view: View = { mounts: [{ path, as: "rw" }], links: [] };
    const { argv } = seatbeltLaunch(LAUNCH, view, { program: "/x", own: "/t" }, settings({}).bwrap);
    expect(argv[2]).not.toContain("allow default");
    expect(argv.some((arg) => arg.endsWith(`=${path}`))).toBe(true);
  });

  it("starts in a copy, and may not read what it is a copy of", () => {
    const launch = { ...LAUNCH, cwd: "/w/sub" };
    const { argv, cwd } = seatbeltLaunch(launch, COPY, { program: "/x", own: "/t" }, settings({}).bwrap);
    expect(cwd).toBe("/s/copies/1/tree/sub");
    expect(argv.filter((arg) => arg.startsWith("-DP")).map((arg) => arg.replace(/.*=/, ""))).not.toContain("/w");
  });

  it("has the limits, a home directory of its own, and ends with the command as it was given", () => {
    const { argv, env, cwd } = made({ bwrap: { cpuSeconds: 7, fileSizeMb: 2, memoryMb: 64, processes: 9 } });
    expect(argv.join(" ")).toContain(" -- /bin/sh -c ");
    expect(argv.join(" ")).toContain(" sh 7 4096 65536 9 /bin/sh -c echo hi");
    expect([env, cwd]).toEqual([{ HOME: "/t/own", LANG: "C", TMPDIR: "/t/own" }, "/w"]);
  });
});

describe("sandbox-exec on macOS", () => {
  const program = (lines: string) => fakeProgram(mkdtempSync(join(tmpdir(), "seatbelt-")), "sandbox-exec", lines);
  const probe = (path: string) =>
    new SandboxMachine({
      env: { OPENCLAW_SANDBOX_EXEC: path },
      dir: mkdtempSync(join(tmpdir(), "seatbelt-")),
      platform: "darwin",
      contributions: { sandboxEngines: [] },
    }).probe(settings({}));

  it("is what auto means there, and works when a program in it can write its own directory and read no other", async () => {
    // It drops the profile; the last try finds out that the gateway's directory can be read.
    const open = program('while [ "$1" != -- ]; do shift; done; shift; exec "$@"');
    expect(await probe(open)).toMatchObject({ ok: false, why: expect.stringContaining("sandbox-exec failed") });
    const closed = program('while [ "$1" != -- ]; do shift; done; shift; ls() { false; }; [ -d "$HOME" ] && exit 0');
    expect(await probe(closed)).toEqual({ ok: true, facts: { backend: "sandbox-exec", program: closed } });
    expect(await probe("/missing/sandbox-exec")).toMatchObject({
      ok: false,
      why: expect.stringContaining("is not there"),
    });
  });
});
