import { answerInTime } from "../answer-limit.ts";
import { methodIn, nameIn, objectOf } from "../foreign.ts";
import { asJson } from "../../../utils/text/as-json.ts";
import { anyForPlugin } from "../../exchanged-keys.ts";
import type { PluginScope } from "../scope.ts";

/** `api.session.controls.registerSessionAction({id, schema, handler})`: called by the method `plugins.sessionAction`. */
export function registerSessionAction(scope: PluginScope, given: unknown): void {
  const action = objectOf(given, "registerSessionAction");
  const id = nameIn(action, "id", "registerSessionAction");
  const handler = methodIn(action, "handler", `the session action "${id}"`);
  if (scope.actions.has(id)) throw new Error(`it registers the session action "${id}" twice`);
  scope.actions.set(id, {
    id,
    run: async (request) => {
      const what = `session action ${id}`;
      const { keys } = scope.ports;
      const answer = scope.call(what, async () => handler(anyForPlugin(request, keys)));
      return anyForPlugin(asJson(await answerInTime(scope, what, answer)), keys);
    },
  });
}
