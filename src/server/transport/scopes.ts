import type { ChatPort } from "../../types/chat/chat.ts";
import { MethodError, type Scope } from "../../types/method.ts";

const SCOPES: ReadonlySet<string> = new Set<Scope>([
  "operator.read",
  "operator.write",
  "operator.admin",
  "operator.approvals",
  "operator.pairing",
]);
const DEFAULT_SCOPES: readonly Scope[] = ["operator.read", "operator.write"];

/** A client with the token gets the scopes that it requests; without a request it may read and write. */
export function grantScopes(asked: readonly string[] | undefined): ReadonlySet<string> {
  if (asked === undefined || asked.length === 0) return new Set(DEFAULT_SCOPES);
  return new Set(asked.filter((scope) => SCOPES.has(scope)));
}

/** `operator.admin` covers every other scope, `operator.write` covers reading. */
export function hasScope(scopes: ReadonlySet<string>, needed: string): boolean {
  if (scopes.has("operator.admin") || scopes.has(needed)) return true;
  return needed === "operator.read" && scopes.has("operator.write");
}

export function missingScope(needed: Scope): MethodError {
  return new MethodError("FORBIDDEN", `missing scope: ${needed}`, {
    details: { code: "MISSING_SCOPE", missingScope: needed, requiredScopes: [needed] },
  });
}

/** Throws `FORBIDDEN` when a text holds a command or a directive for which the client lacks a scope. */
export function checkCommand(text: string, scopes: ReadonlySet<string>, { inputs }: Pick<ChatPort, "inputs">): void {
  const missing = inputs.scopesFor(text).find((scope) => !hasScope(scopes, scope));
  if (missing !== undefined) throw missingScope(missing);
}
