import { z } from "zod";
import { MethodError, type Caller, type Method, type Scope } from "../../../types/method.ts";
import { isFields } from "../../../utils/fields.ts";
import { asJson } from "../../../utils/text/as-json.ts";
import { answerInTime } from "../answer-limit.ts";
import { functionOf, nameIn, objectOf, textIn } from "../foreign.ts";
import { anyForPlugin } from "../../exchanged-keys.ts";
import type { PluginScope } from "../scope.ts";

const SCOPES: readonly Scope[] = [
  "operator.read",
  "operator.write",
  "operator.admin",
  "operator.approvals",
  "operator.pairing",
];

const params = z.looseObject({});

/**
 * `api.registerGatewayMethod(name, handler, {scope})`. The handler gets `{params, respond, client, …}`: it calls
 * `respond(ok, payload, error)` or returns the payload. Without a scope only administrators may call it.
 */
export function registerGatewayMethod(
  scope: PluginScope,
  name: unknown,
  handler: unknown,
  options: unknown = {},
): void {
  const called = nameIn({ name }, "name", "registerGatewayMethod");
  const run = functionOf(handler, `the method "${called}"`);
  const wanted = textIn(objectOf(options, "registerGatewayMethod's options"), "scope");
  const { keys } = scope.ports;
  const method: Method = {
    name: called,
    scope: SCOPES.find((one) => one === wanted) ?? "operator.admin",
    params,
    result: z.unknown(),
    // A payload that cannot be written fails here, where the log names the method and the caller gets an answer.
    run: async (given, caller) => {
      const asked = anyForPlugin(isFields(given) ? given : {}, keys);
      const answer = answerOf(scope, { called, run }, asked, caller);
      return anyForPlugin(asJson(await answerInTime(scope, `method ${called}`, answer)), keys);
    },
  };
  scope.registry.addMethod(method);
}

interface Handler {
  readonly called: string;
  run(...args: readonly unknown[]): unknown;
}

async function answerOf(
  scope: PluginScope,
  { called, run }: Handler,
  given: unknown,
  caller: Caller,
): Promise<unknown> {
  const responded = Promise.withResolvers<unknown>();
  let hasResponded = false;
  const respond = (ok: unknown, payload?: unknown, error?: unknown) => {
    hasResponded = true;
    if (ok === true) responded.resolve(payload);
    else responded.reject(new MethodError("UNAVAILABLE", messageOf(error)));
  };
  const request = { method: called, params: given };
  const client = { connId: caller.connId, scopes: [...caller.scopes], ...caller.client };
  const context = { params: given, respond, client, req: request, context: {} };
  // Nobody awaits this promise when the handler returns the payload; its rejection must not count as unhandled then.
  responded.promise.catch(() => undefined);
  const returned: unknown = await scope.call(`method ${called}`, () => run(context));
  if (!hasResponded && returned !== undefined) return returned;
  return responded.promise;
}

const messageOf = (error: unknown): string =>
  (isFields(error) ? textIn(error, "message") : undefined) ??
  (typeof error === "string" ? error : "the plugin refused it");
