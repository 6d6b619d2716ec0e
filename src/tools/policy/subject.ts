import { hasOwnerRights, type Acting } from "../../types/run/principal.ts";
import type { PolicySubject } from "../../types/tool-policy.ts";

/** A run, as the policy asks about it. */
export function subjectOf({
  acting,
  only,
  isSandboxed,
}: {
  readonly acting: Acting;
  readonly only?: readonly string[];
  readonly isSandboxed?: boolean;
}): PolicySubject {
  const { principal, senders = [], chatRules, depth = 0, inherited, http } = acting;
  const named = only ?? acting.only;
  return {
    hasOwnerRights: hasOwnerRights(principal),
    senders,
    depth,
    ...(chatRules && { chatRules }),
    ...(inherited && { inherited }),
    ...(http && { http }),
    ...(named && { only: named }),
    ...(isSandboxed === true && { isSandboxed }),
  };
}
