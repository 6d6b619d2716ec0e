import { createHmac, timingSafeEqual } from "node:crypto";
import type { WebhookAnswer, WebhookRequest } from "openclaw/plugin-sdk";
import { z } from "zod";
import type { Delivery } from "../events.ts";

/** docs.slack.dev/authentication/verifying-requests-from-slack */
const OLDEST_SECONDS = 5 * 60;
/** Slack wants an answer within three seconds, and sends the request again without one. */
const ANSWER_MS = 2500;

const bodyShape = z.looseObject({ type: z.string(), challenge: z.string().optional() });

export interface WebhookPorts {
  readonly secret: string;
  /** Resolves with true when the delivery is durable. */
  accept(delivery: Delivery): Promise<boolean>;
  alive(): void;
}

/** Answers a request of Slack: 200 when the event is durable, else 503, after which Slack sends it again. */
export async function answerWebhook(request: WebhookRequest, ports: WebhookPorts): Promise<WebhookAnswer> {
  if (request.method !== "POST") return { status: 405 };
  const body = Buffer.from(request.body).toString("utf8");
  const isJson = (request.headers["content-type"] ?? "").includes("json");
  if (!isJson && isCheck(body)) return { status: 200 };
  if (!isFromSlack(request, ports.secret)) return { status: 401, body: "bad signature" };
  ports.alive();
  const read = isJson ? fromJson(body) : fromForm(body);
  if (read === undefined) return { status: 400, body: "not understood" };
  if ("challenge" in read) return { status: 200, headers: { "content-type": "text/plain" }, body: read.challenge };
  return { status: (await withTimeout(ports.accept(read))) ? 200 : 503 };
}

/**
 * Slack sometimes checks the certificate and only wants a 200. It promises no signature for that.
 * docs.slack.dev/interactivity/implementing-slash-commands
 */
const isCheck = (body: string): boolean => new URLSearchParams(body).get("ssl_check") === "1";

/** Whether the signature is valid and not older than five minutes. */
function isFromSlack({ headers, body }: WebhookRequest, secret: string): boolean {
  const stamp = headers["x-slack-request-timestamp"] ?? "";
  const given = Buffer.from(headers["x-slack-signature"] ?? "");
  if (!/^\d+$/.test(stamp) || Math.abs(Date.now() / 1000 - Number(stamp)) > OLDEST_SECONDS) return false;
  const hash = createHmac("sha256", secret).update(`v0:${stamp}:`).update(body).digest("hex");
  const expected = Buffer.from(`v0=${hash}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller answers with 400.
    return undefined;
  }
}

function fromJson(body: string): Delivery | { readonly challenge: string } | undefined {
  const payload = parse(body);
  const outer = bodyShape.safeParse(payload).data;
  if (outer?.type === "url_verification") return { challenge: outer.challenge ?? "" };
  return outer && { kind: "events_api", payload };
}

/** A command is a form; a pressed button is JSON in a form. */
function fromForm(body: string): Delivery | undefined {
  const form = Object.fromEntries(new URLSearchParams(body));
  if (form["command"] !== undefined) return { kind: "slash_commands", payload: form };
  const payload = parse(form["payload"] ?? "");
  return payload === undefined ? undefined : { kind: "interactive", payload };
}

async function withTimeout(taken: Promise<boolean>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ANSWER_MS);
  try {
    return await Promise.race([taken, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
