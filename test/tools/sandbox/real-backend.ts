import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledContributions } from "../../../src/app/contributions/extensions.ts";
import type { SandboxConfig } from "../../../src/tools/sandbox/config.ts";
import { SandboxMachine } from "../../../src/tools/sandbox/machine.ts";
import { sandboxSettings } from "../../../src/tools/sandbox/settings.ts";

/** A program of this machine that makes sandboxes. */
export interface RealBackend {
  readonly name: "bwrap" | "podman" | "docker";
  /** Why tests with it are left out; undefined where it works. */
  readonly why: string | undefined;
  /** The environment in which it is found. */
  readonly env: NodeJS.ProcessEnv;
  /** What its sandboxes need of the config. */
  readonly config: SandboxConfig;
  /** Removes what was made for the tests. */
  close(): void;
}

export const PLAIN = { PATH: "/usr/bin:/bin:/usr/local/bin" };

/** Why a sandbox with this config does not work here. */
export async function whyNot(env: NodeJS.ProcessEnv, config: SandboxConfig): Promise<string | undefined> {
  const dir = mkdtempSync(join(tmpdir(), "sandbox-probe-"));
  try {
    const settings = sandboxSettings(config, {}, { home: dir, stateDir: dir });
    const probe = await new SandboxMachine({ env, dir, contributions: bundledContributions() }).probe(settings);
    return probe.ok ? undefined : probe.why;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export const bwrap: RealBackend = {
  name: "bwrap",
  why: await whyNot(PLAIN, { backend: "bwrap" }),
  env: { PATH: "/usr/bin:/bin" },
  config: { backend: "bwrap" },
  close: () => undefined,
};
