import { z } from "zod";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { Parts } from "../parts.ts";

const name = z.string().min(1);

/** Plugins over the protocol. */
export function pluginMethods({ plugins: { plugins } }: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "plugins.list",
      scope: "operator.read",
      params: z.looseObject({}),
      run: async () => ({ plugins: plugins.records }),
    }),
    defineMethod({
      name: "plugins.sessionAction",
      scope: "operator.write",
      params: z.looseObject({ pluginId: name, actionId: name }),
      run: async ({ pluginId, actionId, ...request }) => {
        const action = plugins.action(pluginId, actionId);
        if (!action) throw new MethodError("NOT_FOUND", `the plugin "${pluginId}" has no session action "${actionId}"`);
        return { result: (await action.run({ pluginId, actionId, ...request })) ?? null };
      },
    }),
  ];
}
