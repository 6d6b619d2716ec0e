import { z } from "zod";
import { THINK_LEVELS, type ThinkLevel } from "../../types/run/model.ts";

/** A text for an agent's main conversation. */
export interface WakeAct {
  readonly kind: "wake";
  readonly text: string;
  readonly mode: "now" | "next-heartbeat";
  readonly name: string;
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly isTrusted: boolean;
}

interface Route {
  /** True when a chat gets the answer. */
  readonly deliver: boolean;
  readonly channel?: string | undefined;
  readonly to?: string | undefined;
  readonly accountId?: string | undefined;
}

interface Choice {
  readonly model?: string | undefined;
  readonly thinking?: ThinkLevel | undefined;
  readonly timeoutSeconds?: number | undefined;
}

/** A turn of an agent. */
export interface AgentAct extends Route, Choice {
  readonly kind: "agent";
  readonly message: string;
  readonly name: string;
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly sessionMode?: "isolated" | "persistent" | undefined;
  /** True when the model gets the text without the marks of untrusted content. */
  readonly isTrusted: boolean;
  /** Set when a hook of the gateway itself asks for the turn. */
  readonly isOwn?: true;
}

export type HookAct = WakeAct | AgentAct;

/** Refusal of a request, for its caller. */
export interface HookRefusal {
  readonly status: number;
  readonly error: string;
}

const MOST_TEXT_CHARS = 400_000;
const name = z.string().trim().min(1).max(200);
const text = z.string().trim().min(1).max(MOST_TEXT_CHARS);

const wakeBody = z.lazy(() =>
  z.looseObject({
    text,
    mode: z.enum(["now", "next-heartbeat"]).default("now"),
    agentId: name.optional(),
    sessionKey: name.optional(),
  }),
);

const agentBody = z.lazy(() =>
  z
    .looseObject({
      message: text,
      name: name.default("Hook"),
      agentId: name.optional(),
      sessionKey: name.optional(),
      sessionMode: z.enum(["isolated", "persistent"]).optional(),
      deliver: z.boolean().default(true),
      channel: name.optional(),
      to: name.optional(),
      accountId: name.optional(),
      model: name.optional(),
      thinking: z.enum(THINK_LEVELS).optional(),
      timeoutSeconds: z.number().min(1).max(86_400).optional(),
      waitForCompletion: z.boolean().default(false),
    })
    .refine(({ channel, to }) => (channel === undefined) === (to === undefined), {
      message: "give channel and to, or neither",
    })
    .refine(({ channel }) => channel !== "last", { path: ["channel"], message: "name a channel, not last" }),
);

export function readWake(body: unknown): WakeAct | HookRefusal {
  const read = wakeBody.safeParse(body);
  if (!read.success) return badBody(read.error);
  const { text: said, mode, agentId, sessionKey } = read.data;
  return { kind: "wake", text: said, mode, name: "Webhook", agentId, sessionKey, isTrusted: false };
}

export function readAgent(body: unknown): { readonly act: AgentAct; readonly isAwaited: boolean } | HookRefusal {
  const read = agentBody.safeParse(body);
  if (!read.success) return badBody(read.error);
  const { waitForCompletion, ...fields } = read.data;
  return { act: { kind: "agent", ...fields, isTrusted: false }, isAwaited: waitForCompletion };
}

function badBody({ issues: [issue] }: z.ZodError): HookRefusal {
  const place = issue?.path.join(".") ?? "";
  return {
    status: 400,
    error: place === "" ? (issue?.message ?? "the body cannot be read") : `${place}: ${issue?.message}`,
  };
}
