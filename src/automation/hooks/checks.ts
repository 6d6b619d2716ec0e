import { unmetCondition } from "../../prompt/skills/skill-conditions.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { HooksConfig } from "./config.ts";
import { gmailPlan } from "./gmail-plan.ts";

interface Scene {
  readonly config: HooksConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The check of a watched mail account; none without an account. It starts no program. */
export const checks = (scene: Scene): readonly Check[] =>
  scene.config.gmail.account === undefined
    ? []
    : [{ id: "hooks.gmail", title: "Mail watcher", run: async () => [await check(scene)] }];

async function check({ config, env }: Scene): Promise<CheckResult> {
  const plan = gmailPlan(config, 0);
  if (typeof plan !== "object")
    return { status: "fail", message: `Mail is not watched: ${plan ?? "no account"}.`, fix: "Set it in the config." };
  const bins = plan.tailscale ? ["gog", "tailscale"] : ["gog"];
  const needs = { always: false, os: [], bins, anyBins: [], env: [], config: [] };
  const unmet = await unmetCondition(needs, { platform: process.platform, env, config: {} });
  if (unmet === undefined) return { status: "ok", message: `${plan.account} is watched with gog.` };
  return { status: "fail", message: `Mail is not watched: ${unmet}.`, fix: "Install it, and restart the gateway." };
}
