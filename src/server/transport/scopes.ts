import { MethodError, type Scope } from "../../types/method.ts";

const SCOPES: ReadonlySet<string> = new Set<Scope>([
  "operator.read",
  "operator.write",
  "operator.admin",
  "operator.approvals",
  "operator.pairing",
]);
const UNASKED: readonly Scope[] = ["operator.read", "operator.write"];

/** Who holds the token gets the scopes it asks for; one that asks for none may read and write. */
export function grantScopes(asked: readonly string[] | undefined): ReadonlySet<string> {
  if (asked === undefined || asked.length === 0) return new Set(UNASKED);
  return new Set(asked.filter((scope) => SCOPES.has(scope)));
}

/** `operator.admin` covers every other scope, `operator.write` covers reading. */
export function hasScope(scopes: ReadonlySet<string>, needed: Scope): boolean {
  if (scopes.has("operator.admin") || scopes.has(needed)) return true;
  return needed === "operator.read" && scopes.has("operator.write");
}

export function missingScope(needed: Scope): MethodError {
  return new MethodError("FORBIDDEN", `missing scope: ${needed}`, {
    details: { code: "MISSING_SCOPE", missingScope: needed, requiredScopes: [needed] },
  });
}

/** A client that may write to a chat may not thereby answer for commands. Throws `FORBIDDEN`. */
export function checkCommand(text: string, scopes: ReadonlySet<string>): void {
  if (/^\s*\/approve\b/i.test(text) && !hasScope(scopes, "operator.approvals"))
    throw missingScope("operator.approvals");
}
