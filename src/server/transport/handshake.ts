import { z } from "zod";
import type { Caller } from "../../types/method.ts";
import type { AuthGate, AuthVerdict } from "./auth.ts";
import { problemsOf, PROTOCOL, type ErrorShape } from "./frames.ts";
import type { RemotePeer } from "../remote-peer.ts";
import { grantScopes } from "./scopes.ts";

const connectParams = z.object({
  minProtocol: z.int().min(1),
  maxProtocol: z.int().min(1),
  client: z.object({
    id: z.string().min(1).max(128),
    version: z.string().min(1).max(128),
    platform: z.string().min(1).max(128),
    mode: z.string().min(1).max(64),
    displayName: z.string().min(1).max(256).optional(),
    instanceId: z.string().min(1).max(256).optional(),
  }),
  role: z.string().min(1).optional(),
  scopes: z.array(z.string().min(1)).optional(),
  caps: z.array(z.string()).optional(),
  auth: z.object({ token: z.string().optional(), password: z.string().optional() }).optional(),
});
export type ConnectParams = z.infer<typeof connectParams>;

export type Handshake =
  | { readonly kind: "welcome"; readonly caller: Caller; readonly params: ConnectParams }
  | { readonly kind: "refused"; readonly error: ErrorShape; readonly closeCode: number; readonly closeReason: string };

/** Decides whether the first request of a connection lets the client in. */
export function judgeConnect(params: unknown, from: { connId: string; peer: RemotePeer }, gate: AuthGate): Handshake {
  const parsed = connectParams.safeParse(params);
  if (!parsed.success) return refuse(1008, `invalid connect params: ${problemsOf(parsed.error)}`);
  const connect = parsed.data;
  if (connect.minProtocol > PROTOCOL || connect.maxProtocol < PROTOCOL) return refuseProtocol(connect);
  const role = connect.role ?? "operator";
  if (role !== "operator") return refuseRole(role);
  const verdict = gate.judge(connect.auth ?? {}, from.peer);
  if (verdict.kind !== "ok") return refuseCredentials(verdict);
  const { id, version, platform, mode } = connect.client;
  const caller = { connId: from.connId, scopes: grantScopes(connect.scopes), client: { id, version, platform, mode } };
  return { kind: "welcome", caller, params: connect };
}

function refuse(closeCode: number, message: string, details?: Record<string, unknown>): Handshake {
  const error = { code: "INVALID_REQUEST", message, ...(details === undefined ? {} : { details }) };
  return { kind: "refused", error, closeCode, closeReason: message.slice(0, 120) };
}

function refuseProtocol(connect: ConnectParams): Handshake {
  return refuse(1002, "protocol mismatch", {
    code: "PROTOCOL_MISMATCH",
    clientMinProtocol: connect.minProtocol,
    clientMaxProtocol: connect.maxProtocol,
    expectedProtocol: PROTOCOL,
  });
}

function refuseRole(role: string): Handshake {
  return refuse(1008, `role ${role.slice(0, 40)} is not served by this gateway; connect as operator`, {
    code: "ROLE_NOT_SERVED",
  });
}

function refuseCredentials(verdict: Exclude<AuthVerdict, { kind: "ok" }>): Handshake {
  if (verdict.kind === "missing") {
    return refuse(1008, "unauthorized: gateway token missing", { code: "AUTH_TOKEN_MISSING" });
  }
  if (verdict.kind === "wrong") {
    const code = verdict.what === "token" ? "AUTH_TOKEN_MISMATCH" : "AUTH_PASSWORD_MISMATCH";
    return refuse(1008, `unauthorized: gateway ${verdict.what} mismatch`, { code });
  }
  const message = "unauthorized: too many failed authentication attempts";
  const details = { code: "AUTH_RATE_LIMITED", recommendedNextStep: "wait_then_retry" };
  const error = { code: "RATE_LIMITED", message, details, retryable: true, retryAfterMs: verdict.retryAfterMs };
  return { kind: "refused", error, closeCode: 1008, closeReason: message };
}
