import type { FastifyInstance, FastifyReply } from "fastify";
import { z } from "zod";
import type { Log } from "../../types/log.ts";
import { MethodError } from "../../types/method.ts";
import type { WebPush } from "./push.ts";

/** Bytes of a request: two addresses and their keys. */
const MOST_BODY = 8192;

const TEXTS = {
  400: "No subscription.\n",
  404: "No such subscription.\n",
  503: "Notifications cannot be changed now.\n",
} as const;

const send = (reply: FastifyReply, status: keyof typeof TEXTS): FastifyReply =>
  reply.code(status).type("text/plain; charset=utf-8").send(TEXTS[status]);

/** Most characters of the address and of a key of a subscription. */
const MOST_ENDPOINT = 2048;
const MOST_KEY = 512;

/** The address of a subscription, as a browser gives it. A gateway to which no browser subscribes makes no schema. */
export const endpointSchema = () =>
  z
    .string()
    .min(1)
    .max(MOST_ENDPOINT)
    .refine((text) => URL.parse(text)?.protocol === "https:", "must be an https address");

/** A subscription, as a browser gives it. */
export function targetSchema() {
  const key = z.string().min(1).max(MOST_KEY);
  return z.looseObject({ endpoint: endpointSchema(), keys: z.looseObject({ p256dh: key, auth: key }) });
}

interface RouteParts {
  readonly basePath: string;
  readonly openPush: () => Promise<WebPush>;
  readonly log: Log;
}

/**
 * `POST <base path>/__openclaw__/push-renewed`: the service worker of a closed page tells that its browser has renewed the
 * subscription. It has no token of the gateway; the secret of the subscription before says that it is the same browser.
 */
export function servePushRenewal(app: FastifyInstance, { basePath, openPush, log }: RouteParts): void {
  void app.register(async (route) => {
    route.setErrorHandler((error, _request, reply) => {
      // A body that is too large or no JSON.
      if (error instanceof Error && "statusCode" in error && error.statusCode !== 500) return send(reply, 400);
      log.warn("a renewed subscription to notifications could not be taken", { error });
      return send(reply, 503);
    });
    route.post(`${basePath}/__openclaw__/push-renewed`, { bodyLimit: MOST_BODY }, async ({ body }, reply) => {
      const auth = z.string().max(MOST_KEY);
      const renewal = z.object({ endpoint: endpointSchema(), auth, renewed: targetSchema() });
      const given = renewal.safeParse(body);
      if (!given.success) return send(reply, 400);
      const { renewed: target, ...before } = given.data;
      const renewed = { endpoint: target.endpoint, keys: { p256dh: target.keys.p256dh, auth: target.keys.auth } };
      try {
        const isKnown = await (await openPush()).renew(before, renewed);
        return await (isKnown ? reply.code(204).send() : send(reply, 404));
      } catch (error) {
        if (error instanceof MethodError) return send(reply, 400);
        throw error;
      }
    });
  });
}
