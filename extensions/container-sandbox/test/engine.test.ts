import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import { sandboxConfig } from "../../../src/tools/sandbox/config.ts";
import type { ContainerBackend } from "../../../src/types/sandbox.ts";
import { fakeProgram } from "../../../test/tools/sandbox/fake-program.ts";
import { openGround } from "../../../test/tools/sandbox/fixture.ts";

/** Runs on the machine what it should run in a container of `mine:1`. */
const ENGINE = `[ "$1" = run ] || exit 0
while [ "$1" != mine:1 ]; do [ "$1" = --workdir ] && dir=$2; shift; done
shift; cd "$dir" && exec /bin/sh "$@"`;

const BACKENDS = sandboxConfig.shape.backend
  .unwrap()
  .options.flatMap((one): ContainerBackend[] => (one === "docker" || one === "podman" ? [one] : []));

it("is there for each backend of the config that needs one", () => {
  expect(BACKENDS).not.toEqual([]);
  expect(bundledContributions().sandboxEngines.map(({ backend }) => backend)).toEqual(BACKENDS);
});

describe.for(BACKENDS)("a command with the backend %s", (backend) => {
  const dir = mkdtempSync(join(tmpdir(), "engine-"));
  const env = { PATH: `${join(dir, "bin")}:/usr/bin:/bin` };
  const config = { backend, docker: { image: "mine:1" } };
  beforeEach(() => fakeProgram(join(dir, "bin"), backend, ENGINE));
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(dir, { recursive: true, force: true });
  });

  it("runs where the engine says, without the gateway's own variables", async () => {
    vi.stubEnv("OPENCLAW_STATE_DIR", "/of/the/gateway");
    vi.stubEnv("TEMP", "/of/the/gateway");
    vi.stubEnv("LANG", "C.UTF-8");
    const ground = openGround(env, config);
    const said = await ground.says("env");
    ground.close();
    expect(said).toContain("LANG=C.UTF-8");
    expect(said).not.toContain("/of/the/gateway");
  });

  it("runs nowhere when no extension has its engine", async () => {
    const ground = openGround(env, config, { sandboxEngines: [] });
    const { exec } = ground.backends();
    const line = { command: "touch made", cwd: ground.workspace, timeoutMs: 20_000, input: "none" } as const;
    await expect(exec.start(line)).rejects.toThrow(`no extension runs ${backend}`);
    const isMade = existsSync(join(ground.workspace, "made"));
    ground.close();
    expect(isMade).toBe(false);
  });
});
