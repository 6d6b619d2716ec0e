import { z } from "zod";
import { pushAnswers, pushDevice } from "../../types/answers/push.ts";
import { defineMethod, MethodError, type Caller, type Method } from "../../types/method.ts";
import { DEFAULTS, effectiveOf } from "../push/notices.ts";
import type { PushOwner } from "../push/kept.ts";
import type { WebPush } from "../push/push.ts";
import { endpointSchema, targetSchema } from "../push/route.ts";

const MOST_LANGUAGE = 35;
const endpoint = endpointSchema();
const nothing = z.looseObject({});

interface PushScene {
  readonly push: WebPush;
  /** Mark of what lets clients in. */
  readonly login: string;
}

const ownerOf = ({ deviceId, scopes }: Caller, login: string): PushOwner => ({
  deviceId: deviceId ?? null,
  login,
  scopes: [...scopes].toSorted(),
});

/** The protocol's methods by which a browser asks for notifications while its page is closed. */
export const pushMethods = (scene: PushScene): readonly Method[] => [
  ...subscriptionMethods(scene),
  ...preferenceMethods(scene),
  testMethod(scene),
];

const subscriptionMethods = ({ push, login }: PushScene): readonly Method[] => [
  defineMethod({
    name: "push.web.vapidPublicKey",
    scope: "operator.read",
    params: nothing,
    result: pushAnswers.vapidPublicKey,
    run: async () => ({ vapidPublicKey: await push.publicKey() }),
  }),
  defineMethod({
    name: "push.web.subscribe",
    scope: "operator.write",
    params: targetSchema().extend({
      language: z.string().max(MOST_LANGUAGE).optional(),
      replaces: endpoint.optional(),
    }),
    result: pushAnswers.subscribe,
    run: async ({ endpoint: address, keys: { p256dh, auth }, language, replaces }, caller) => ({
      subscriptionId: await push.subscribe(
        { endpoint: address, keys: { p256dh, auth }, ...(language !== undefined && { language }), replaces },
        ownerOf(caller, login),
      ),
    }),
  }),
  defineMethod({
    name: "push.web.unsubscribe",
    scope: "operator.write",
    params: z.looseObject({ endpoint }),
    result: pushAnswers.unsubscribe,
    async run({ endpoint: address }, caller) {
      await push.unsubscribe(address, ownerOf(caller, login));
      return { removed: true };
    },
  }),
];

const preferenceMethods = ({ push, login }: PushScene): readonly Method[] => [
  defineMethod({
    name: "push.web.preferences.get",
    scope: "operator.read",
    params: z.looseObject({ endpoint }),
    result: pushAnswers.preferencesGet,
    run: async ({ endpoint: address }, caller) => {
      const device = push.preferences(address, ownerOf(caller, login));
      return { durableIdentity: false, user: DEFAULTS, device, effective: effectiveOf(device) };
    },
  }),
  defineMethod({
    name: "push.web.preferences.set",
    scope: "operator.write",
    params: z.looseObject({
      endpoint,
      scope: z.enum(["user", "device"]).default("device"),
      preferences: pushDevice,
    }),
    result: pushAnswers.preferencesSet,
    async run({ endpoint: address, scope, preferences }, caller) {
      const owner = ownerOf(caller, login);
      push.preferences(address, owner);
      if (scope === "user")
        throw new MethodError("INVALID_REQUEST", "user defaults require a durable authenticated profile");
      await push.prefer(address, preferences, owner);
      return { scope, preferences };
    },
  }),
];

const testMethod = ({ push, login }: PushScene): Method =>
  defineMethod({
    name: "push.web.test",
    scope: "operator.write",
    mayWait: true,
    params: z.looseObject({
      title: z.string().max(200).optional(),
      body: z.string().max(1000).optional(),
    }),
    result: pushAnswers.test,
    async run({ title, body }, caller) {
      const results = await push.test({ title, body }, ownerOf(caller, login));
      if (results.length === 0) throw new MethodError("INVALID_REQUEST", "no web push subscriptions registered");
      if (results.some(({ ok }) => ok)) return { results };
      const [{ error = "" } = {}] = results;
      throw new MethodError("UNAVAILABLE", `all web push deliveries failed: ${error}`, { details: { results } });
    },
  });
