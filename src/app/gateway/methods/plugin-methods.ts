import { z } from "zod";
import { hooksAnswer, shownHook } from "../../../plugins/internal-hooks/shown-hook.ts";
import type { HookRunner } from "../../../types/hook/hooks.ts";
import { isFields } from "../../../utils/fields.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { faultsOf } from "../../plugins/faults.ts";
import { pluginAnswers } from "../../../types/answers/plugins.ts";
import { agentCalled } from "../parts/agent-called.ts";
import { putIntoForce } from "../lifecycle/reload.ts";
import type { Parts } from "../parts/parts.ts";

const name = z.string().min(1);

const installation = z.looseObject({
  targetType: z.enum(["plugin", "skill"]),
  targetName: name,
  sourcePath: name,
  request: z.looseObject({ kind: name, mode: z.enum(["install", "update"]) }),
});

/** The reason of the hook that does not allow it. A hook that throws or is late does not allow it either. */
async function whyNotInstall(
  event: z.output<typeof installation>,
  hooks: HookRunner | undefined,
): Promise<string | undefined> {
  return hooks?.gate(
    { name: "before_install", event, context: {} },
    {
      refused: (reason) => reason,
      accepts(answer) {
        if (!isFields(answer) || answer["block"] !== true) return undefined;
        const { blockReason: reason } = answer;
        return typeof reason === "string" && reason !== "" ? reason : "it gives no reason";
      },
    },
  );
}

/** The hooks that are folders, as the gateway has them; those of one agent's workspace only where no other agent is asked for. */
function hooksStatus({ live, plugins }: Parts): Method {
  return defineMethod({
    name: "hooks.status",
    scope: "operator.read",
    params: z.looseObject({ agentId: name.optional() }),
    result: hooksAnswer,
    run: async ({ agentId }) => {
      const agent = agentCalled(agentId, { live });
      const { hooks, leftOut } = plugins.hooks.folders.view;
      const own = hooks.filter(
        ({ root }) => agentId === undefined || root.agent === undefined || root.agent === agentId,
      );
      const places = { workspaceDir: agent.workspace, managedHooksDir: live.paths.hooks };
      return { ...places, hooks: own.map(shownHook), leftOut };
    },
  });
}

/** Plugins and hooks over the protocol. */
export function pluginMethods(parts: Parts): readonly Method[] {
  const { plugins } = parts.plugins;
  return [
    hooksStatus(parts),
    defineMethod({
      name: "plugins.loaded",
      scope: "operator.read",
      params: z.looseObject({ check: z.boolean().optional() }),
      result: pluginAnswers.loaded,
      // The check opens the selected engine, as each run does.
      run: async ({ check }) => ({
        plugins: plugins.records,
        ...(check === true && { faults: await faultsOf(parts.live) }),
      }),
    }),
    defineMethod({
      name: "plugins.judgeInstall",
      scope: "operator.admin",
      params: installation,
      result: pluginAnswers.judgeInstall,
      run: async (event) => {
        const blocked = await whyNotInstall(event, parts.core.ports.runs.hooks);
        return blocked === undefined ? {} : { blocked };
      },
    }),
    defineMethod({
      name: "plugins.retry",
      scope: "operator.admin",
      params: z.looseObject({ pluginId: name }),
      result: pluginAnswers.retry,
      run: async ({ pluginId }) => {
        const replaced = await putIntoForce(parts);
        if (replaced.length > 0) await parts.channels.restart(replaced);
        const plugin = plugins.records.find(({ id }) => id === pluginId);
        if (plugin) return { plugin };
        throw new MethodError("NOT_FOUND", `the gateway has found no plugin "${pluginId}"`);
      },
    }),
    defineMethod({
      name: "plugins.sessionAction",
      mayWait: true,
      scope: "operator.write",
      params: z.looseObject({ pluginId: name, actionId: name }),
      result: z.looseObject({ ok: z.literal(true), result: z.unknown() }),
      run: async ({ pluginId, actionId, ...request }) => {
        const action = plugins.action(pluginId, actionId);
        if (!action) throw new MethodError("NOT_FOUND", `the plugin "${pluginId}" has no session action "${actionId}"`);
        return { ok: true as const, result: (await action.run({ pluginId, actionId, ...request })) ?? null };
      },
    }),
  ];
}
