import { judgeHooks } from "../../plugins/internal-hooks/judge-hooks.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { Live } from "../compose/live.ts";
import type { Env } from "../config/secrets.ts";
import { hookScene } from "../plugins/hooks/hook-scene.ts";

/** Whether the hooks that the config wants can be called. */
export function hookFoldersCheck(live: Live, env: Env): Check {
  return {
    id: "hooks.internal",
    title: "Hook folders",
    run: async () => {
      const { config, paths, agents, loaded } = live;
      const scene = hookScene({ config, paths, agents, plugins: loaded.plugins.plugins, env });
      const { hooks, leftOut } = await judgeHooks(scene);
      const kept = hooks.flatMap(({ name, state, why = "it cannot be used", fix }): CheckResult[] =>
        state === "unfit" || state === "unapproved"
          ? [
              {
                status: "warn",
                message: `${name} is not called: ${why}.`,
                fix: fix ?? `Run: openclaw hooks info ${name}`,
              },
            ]
          : [],
      );
      const unused = leftOut.map(({ folder, why }): CheckResult => ({
        status: "warn",
        message: `${folder} is not used as a hook: ${why}.`,
        fix: "Correct it, or remove the folder.",
      }));
      const on = hooks.filter(({ state }) => state === "on").length;
      const all: CheckResult = { status: "ok", message: `${hooks.length} found, ${on} called.` };
      return kept.length + unused.length === 0 ? [all] : [...kept, ...unused];
    },
  };
}
