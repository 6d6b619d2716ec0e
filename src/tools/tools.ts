import type { AgentSettings } from "../types/settings.ts";
import type { ModelRef } from "../types/run/model.ts";
import type { Tool, ToolContribution, ToolScene, ToolSet } from "../types/run/tool.ts";
import type { PolicyStage, PolicySubject } from "../types/tool-policy.ts";
import { execTool } from "./exec.ts";
import type { Allowances } from "./exec/permission.ts";
import { NO_POLICY } from "./exec/rules/policy.ts";
import { editTool } from "./files/edit.ts";
import { findTool } from "./files/find.ts";
import { grepTool } from "./files/grep.ts";
import { lsTool } from "./files/ls.ts";
import { readTool } from "./files/read.ts";
import { applyPatchTool } from "./files/patch/apply-patch.ts";
import { writeTool } from "./files/write.ts";
import { emptiedBy, isToolAllowed, removedBy } from "./policy/decide.ts";
import { dependsOnModel, stagesFor } from "./policy/stages.ts";
import { distinct, lazyToolFor, sameInEachRun } from "./lazy-tool.ts";
import { starterOf } from "./process/starter.ts";
import { processTool } from "./process/process.ts";
import type { Processes } from "./process/processes.ts";
import { hasOwnerRights, type Acting } from "../types/run/principal.ts";

/**
 * The tools that work on files and processes, which they reach only through the backends of the run. Commands may run
 * in the background where there are `processes`, and the agent may use the tool that follows them.
 */
export function backendTools(rules: Allowances, processes?: Processes): readonly ToolContribution[] {
  return [
    { name: "read", appearance: sameInEachRun, forRun: ({ files }) => readTool(files) },
    { name: "write", appearance: sameInEachRun, forRun: ({ files }) => writeTool(files) },
    { name: "edit", appearance: sameInEachRun, forRun: ({ files }) => editTool(files) },
    {
      name: "apply_patch",
      isForModel: (model, { agent }) => isNamedModel(model, agent.tools.applyPatch?.allowModels ?? []),
      appearance: ({ agent }) => (mayPatch(agent) ? "" : false),
      forRun({ files, agent }) {
        const { workspaceOnly = true } = agent.tools.applyPatch ?? {};
        return mayPatch(agent) ? applyPatchTool(workspaceOnly ? files.confined() : files) : undefined;
      },
    },
    { name: "grep", appearance: sameInEachRun, forRun: ({ files }) => grepTool(files) },
    { name: "find", appearance: sameInEachRun, forRun: ({ files }) => findTool(files) },
    { name: "ls", appearance: sameInEachRun, forRun: ({ files }) => lsTool(files) },
    {
      name: "exec",
      appearance: (scene) => JSON.stringify([isFollowed(scene, processes), scene.exec.note]),
      forRun: (scene) =>
        execTool({
          settings: scene.agent.exec,
          rules,
          backend: scene.exec,
          hasOwnerRights: starterOf(scene).hasOwnerRights,
          elevation: scene.elevation,
          sandboxed: scene.sandboxed,
          ...(isFollowed(scene, processes) && { background: { processes, starter: starterOf(scene) } }),
        }),
    },
    {
      ...PROCESS,
      appearance: () => (processes ? "" : false),
      forRun: (scene) =>
        processes &&
        processTool({
          processes,
          viewer: starterOf(scene),
          acting: scene.acting,
          settings: scene.agent.exec,
          limits: async () => (await rules.policy?.(scene.agent.id)) ?? NO_POLICY,
          elevation: scene.elevation,
        }),
    },
  ];
}

const PROCESS = { name: "process" };

const mayPatch = ({ tools }: Pick<AgentSettings, "tools">): boolean => tools.applyPatch?.enabled ?? true;

/** Whether the run can follow commands in the background. */
const isFollowed = ({ names }: ToolScene, processes: Processes | undefined): processes is Processes =>
  processes !== undefined && names?.includes(PROCESS.name) === true;

/** Whether a list of models has this model. An empty list has all models. */
const isNamedModel = ({ provider, id }: Pick<ModelRef, "provider" | "id">, models: readonly string[]): boolean =>
  models.length === 0 || models.some((name) => [`${provider}/${id}`, `${provider}/*`, id, "*"].includes(name.trim()));

/**
 * The tools of one run that the agent's policy allows. Of several contributions with one name the first that makes a
 * tool counts. A contribution that throws, or makes a tool under another name, which the policy did not allow, is
 * reported to `broken` and left out.
 */
export function toolsFor(
  contributions: readonly ToolContribution[],
  scene: ToolScene,
  broken: (tool: string, error: unknown) => void,
): ToolSet {
  const { byName, all } = distinct(contributions, scene);
  const subject = subjectOf(scene);
  const stages = stagesFor(scene.agent.tools, subject);
  const allowed = all.filter((contribution) => isToolAllowed(contribution, stages));
  const named = { ...scene, names: allowed.map(({ name }) => name) };
  const tools = allowed.flatMap((contribution) => madeSafely(contribution, named, broken));
  const emptied = allowed.length === 0 ? emptiedBy(all, stages) : undefined;
  return {
    tools,
    ...(emptied && { emptiedBy: emptied.key }),
    removed: (name, model) =>
      removedBy(name, byName, model ? stagesFor(scene.agent.tools, { ...subject, model }) : stages),
    on(model) {
      const forModel = tools.filter(({ name }) => byName.get(name)?.isForModel?.(model, named) ?? true);
      if (!dependsOnModel(scene.agent.tools)) return forModel;
      const withModel = stagesFor(scene.agent.tools, { ...subject, model });
      return forModel.filter(({ name }) => isAllowedHere(byName.get(name), withModel));
    },
  };
}

const isAllowedHere = (contribution: ToolContribution | undefined, stages: readonly PolicyStage[]): boolean =>
  contribution !== undefined && isToolAllowed(contribution, stages);

function madeSafely(
  contribution: ToolContribution,
  scene: ToolScene,
  broken: (tool: string, error: unknown) => void,
): readonly Tool[] {
  try {
    const tool = lazyToolFor(contribution, scene);
    return tool ? [tool] : [];
  } catch (error) {
    broken(contribution.name, error);
    return [];
  }
}

/** Facts about a run for the policy. */
function subjectOf({
  acting,
  only,
  isSandboxed,
}: {
  readonly acting: Acting;
  readonly only?: readonly string[];
  readonly isSandboxed?: boolean;
}): PolicySubject {
  const { principal, senders = [], chatRules, depth = 0, inherited, http } = acting;
  const named = only ?? acting.only;
  return {
    hasOwnerRights: hasOwnerRights(principal),
    senders,
    depth,
    ...(chatRules && { chatRules }),
    ...(inherited && { inherited }),
    ...(http && { http }),
    ...(named && { only: named }),
    ...(isSandboxed === true && { isSandboxed }),
  };
}
