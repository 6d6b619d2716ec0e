import type { IncomingMessage, ServerResponse } from "node:http";
import { OpenClawError } from "../../types/errors.ts";
import { answerInstead } from "../../utils/net/answer-instead.ts";
import type { PluginScope } from "./scope.ts";

/**
 * The answer of a plugin's method or action. Rejects with `PLUGIN_TIMEOUT` when it is not there in time; a later answer
 * is lost.
 */
export async function answerInTime(scope: PluginScope, what: string, answer: Promise<unknown>): Promise<unknown> {
  const ms = limitOf(scope);
  const late = Promise.withResolvers<never>();
  const cancel = scope.ports.clock.after(ms, () => {
    scope.log.warn("plugin is late", { call: what, ms });
    answer.catch((error: unknown) => scope.log.error("plugin failed", { call: what, error }));
    late.reject(timeoutError(scope, what, ms));
  });
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    cancel();
  }
}

/**
 * Answers a request with 504 when a plugin's route has not begun to answer in time, counted from the latest byte that came in. An
 * answer that has begun is not cut.
 */
export function limitRoute(scope: PluginScope, what: string, { request, response }: Exchange): void {
  const ms = limitOf(scope);
  let heard = request.socket.bytesRead;
  let cancel = () => undefined as void;
  const wait = (): void => {
    cancel = scope.ports.clock.after(ms, look);
  };
  const look = (): void => {
    if (response.headersSent || response.destroyed) return;
    if (request.socket.bytesRead > heard) {
      heard = request.socket.bytesRead;
      return wait();
    }
    scope.log.warn("plugin is late", { call: what, ms });
    answerInstead(response, 504, `The plugin ${scope.id} did not answer within ${ms / 1000} s.\n`);
  };
  response.once("close", () => cancel());
  wait();
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const limitOf = ({ ports }: PluginScope): number => ports.pluginsConfig().answerTimeoutSeconds * 1000;

function timeoutError({ id }: PluginScope, what: string, ms: number): OpenClawError {
  return new OpenClawError("PLUGIN_TIMEOUT", {
    message: `The ${what} of the plugin ${id} did not answer within ${ms / 1000} s.`,
    fix: "Try it again; if the plugin needs longer, raise plugins.answerTimeoutSeconds.",
  });
}
