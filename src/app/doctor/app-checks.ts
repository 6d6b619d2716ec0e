import { checks as cronChecks } from "../../automation/cron/checks.ts";
import { checks as webhookChecks } from "../../automation/hooks/checks.ts";
import type { Check } from "../../types/check.ts";
import type { LoadOptions } from "../config/load.ts";
import { journalPath, type StatePaths } from "../config/paths.ts";
import type { Config } from "../config/schema.ts";
import { allowedCheck, approvalsCheck } from "./people/approvals-check.ts";
import { bindingsCheck } from "./agents/bindings-check.ts";
import { configCheck } from "./config-check.ts";
import { hooksCheck, lockCheck, portCheck, tokenCheck } from "./gateway-checks.ts";
import { nodeCheck, stateDirCheck } from "./machine-checks.ts";
import { mentionsCheck } from "./mentions-check.ts";
import { ownerCheck } from "./people/owner-check.ts";
import { permissionCheck } from "./permission-check.ts";
import { policyCheck } from "./policy-check.ts";
import { agentChecks } from "./sandbox-check.ts";
import { strangersCheck } from "./strangers-check.ts";
import { toolsCheck } from "./tools-check.ts";

/** The checks that belong to no module. Without a valid config, those that need one are left out. */
export function appChecks(options: {
  paths: StatePaths;
  load: LoadOptions;
  config?: Config | undefined;
}): readonly Check[] {
  const { paths, load, config } = options;
  const always = [
    nodeCheck(),
    stateDirCheck(paths, load.env),
    configCheck(load),
    permissionCheck(paths),
    lockCheck(paths),
    strangersCheck(journalPath(paths)),
    allowedCheck(paths),
  ];
  if (!config) return always;
  const isRouted = config.bindings.length > 0 || Object.values(config.broadcast).some(Array.isArray);
  const bound = isRouted ? [bindingsCheck(config)] : [];
  const own = [portCheck, tokenCheck, hooksCheck].map((check) => check(config, paths));
  const ofAgents = agentChecks({ config, paths, env: load.env });
  const jobs = cronChecks({ stateDir: paths.stateDir, journal: journalPath(paths), config: config.cron });
  const mail = webhookChecks({ config: config.hooks, env: load.env });
  const people = [policyCheck, ownerCheck, approvalsCheck, mentionsCheck, toolsCheck].map((check) => check(config));
  return [...always, ...own, ...people, ...ofAgents, ...jobs, ...mail, ...bound];
}
