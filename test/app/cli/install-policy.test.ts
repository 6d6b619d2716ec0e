import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { run } from "../../kit/gateway/cli.ts";
import { folder, makePlugin } from "../../kit/plugins/sources.ts";

let dir: string;
let env: Record<string, string>;
let source: string;

beforeEach(() => {
  dir = folder();
  env = { PATH: process.env["PATH"] ?? "", HOME: dir, OPENCLAW_STATE_DIR: join(dir, "state"), SEEN: "passed" };
  source = makePlugin(join(dir, "source"));
});

/** A program that keeps what it is told and what it sees, and answers with this text. */
function program(answer: string): string {
  const path = join(dir, "review");
  const lines = ["#!/bin/sh", `cat > ${dir}/told`, `echo "$SEEN $OWN $1" > ${dir}/saw`, `echo '${answer}'`];
  writeFileSync(path, lines.join("\n"));
  chmodSync(path, 0o700);
  return path;
}

function configure(installPolicy: object): void {
  mkdirSync(join(dir, "state"), { recursive: true });
  writeFileSync(join(dir, "state/openclaw.json"), JSON.stringify({ security: { installPolicy } }));
}

const install = (...flags: string[]) => run(["plugins", "install", source, "--yes", ...flags], env);
const decided = (answer: object) => ({ command: program(JSON.stringify({ protocolVersion: 1, ...answer })) });
const isInstalled = () => existsSync(join(dir, "state/extensions/toy"));

describe("a program of the operator", () => {
  test("is told what is installed, with its own arguments and variables, and lets it happen", async () => {
    const exec = { ...decided({ decision: "allow" }), args: ["--strict"], passEnv: ["SEEN"], env: { OWN: "given" } };
    configure({ enabled: true, targets: ["skill", "plugin"], exec });
    expect((await install()).code).toBe(0);
    expect(JSON.parse(readFileSync(join(dir, "told"), "utf8"))).toMatchObject({
      protocolVersion: 1,
      openclawVersion: expect.any(String),
      targetType: "plugin",
      targetName: "toy",
      sourcePathKind: "directory",
      source: { kind: "local-path", authority: "third-party" },
      request: { kind: "plugin-dir", mode: "install", requestedSpecifier: source },
    });
    expect(readFileSync(join(dir, "saw"), "utf8")).toBe("passed given --strict\n");
  });

  test.each([
    ["blocks it", { decision: "block", reason: "not on this host" }, "does not allow toy: not on this host"],
    ["blocks it without a reason", { decision: "block" }, "gave no decision"],
    ["speaks another protocol", { protocolVersion: 2, decision: "allow" }, "gave no decision"],
    ["warns", { decision: "warn", reason: "unsigned" }, "--acknowledge-install-policy-warning"],
  ])("%s, and nothing is installed", async (_what, answer, said) => {
    configure({ enabled: true, exec: decided(answer) });
    const { code, err } = await install();
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(err).toContain("error PLUGIN_BLOCKED:");
    expect(err).toContain(said);
  });

  test("that warns is passed over when the operator says so; one that blocks is not", async () => {
    configure({ enabled: true, exec: decided({ decision: "block", reason: "no" }) });
    expect((await install("--acknowledge-install-policy-warning")).code).toBe(1);
    configure({ enabled: true, exec: decided({ decision: "warn", reason: "unsigned" }) });
    expect((await install("--acknowledge-install-policy-warning")).code).toBe(0);
  });

  test.each([
    ["none is named", undefined, 0o700, "names no program"],
    ["others may change it", {}, 0o722, "chmod go-w"],
    ["it lies elsewhere", { trustedDirs: ["/usr/bin"] }, 0o700, "outside trustedDirs"],
    ["it says too much", { maxOutputBytes: 5 }, 0o700, "more than 5 bytes"],
  ])("blocks all where %s", async (_what, more, mode, said) => {
    const exec = more && { ...decided({ decision: "allow" }), ...more };
    if (exec) chmodSync(exec.command, mode);
    configure({ enabled: true, ...(exec && { exec }) });
    const { code, err } = await install();
    expect([code, isInstalled()]).toEqual([1, false]);
    expect(err).toContain(said);
  });

  test("that does not answer in time blocks", async () => {
    const command = program("");
    writeFileSync(command, "#!/bin/sh\nexec sleep 600\n");
    for (const limits of [{ timeoutMs: 100 }, { noOutputTimeoutMs: 100 }]) {
      configure({ enabled: true, exec: { command, ...limits } });
      const { code, err } = await install();
      expect([code, err]).toEqual([1, expect.stringMatching(/did not end within 100 ms|said nothing for 100 ms/)]);
    }
  });

  test.each([
    ["it is switched off", { enabled: false }],
    ["it is for skills only", { enabled: true, targets: ["skill"] }],
  ])("is not asked where %s", async (_what, policy) => {
    configure({ ...policy, exec: decided({ decision: "block", reason: "no" }) });
    expect((await install()).code).toBe(0);
  });

  test("is asked about an update too", async () => {
    await install();
    writeFileSync(join(source, "dist/index.js"), "export default { changed: true };");
    configure({ enabled: true, exec: decided({ decision: "block", reason: "wait" }) });
    const { code, err } = await run(["plugins", "update", "toy", "--yes"], env);
    expect([code, err]).toEqual([1, expect.stringContaining("does not allow toy: wait")]);
  });
});
