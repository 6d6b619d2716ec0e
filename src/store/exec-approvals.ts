import { readFileSync } from "node:fs";
import { ZodError } from "zod";
import { errorText } from "../utils/text/error-text.ts";
import { execApprovals, type ExecApprovals } from "../tools/exec/rules/document.ts";
import { brokenPolicy, NO_POLICY, policyOf, type ExecPolicy } from "../tools/exec/rules/policy.ts";
import { stampOf } from "./file-stamp.ts";

type Read =
  | { readonly kind: "read"; readonly document: ExecApprovals }
  | { readonly kind: "broken"; readonly why: string }
  | { readonly kind: "missing" };

/** `exec-approvals.json`, which is read again after a change. A file that cannot be read makes every command ask. */
export class ExecApprovalsFile {
  readonly #path: string;
  #stamp = "";
  #found: Read = { kind: "missing" };
  readonly #policies = new Map<string, ExecPolicy>();

  constructor(path: string) {
    this.#path = path;
  }

  /** What the file says for an agent now. Never throws. */
  policy(agent: string): ExecPolicy {
    this.#refresh();
    const known = this.#policies.get(agent);
    if (known) return known;
    const policy = policyFor(this.#found, agent);
    this.#policies.set(agent, policy);
    return policy;
  }

  #refresh(): void {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#policies.clear();
    this.#found = stamp === "" ? { kind: "missing" } : this.#read();
  }

  #stampNow(): string {
    try {
      const facts = stampOf(this.#path);
      return facts ? [facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(":") : "";
    } catch (error) {
      return `unreadable: ${errorText(error)}`;
    }
  }

  #read(): Read {
    try {
      const content: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
      return { kind: "read", document: execApprovals.parse(content) };
    } catch (error) {
      const [issue] = error instanceof ZodError ? error.issues : [];
      const why = issue ? `${issue.path.join(".")}: ${issue.message}` : errorText(error);
      return {
        kind: "broken",
        why: `${this.#path} cannot be used, so every command is asked about; mend or remove it: ${why}`,
      };
    }
  }
}

function policyFor(found: Read, agent: string): ExecPolicy {
  if (found.kind === "missing") return NO_POLICY;
  return found.kind === "broken" ? brokenPolicy(found.why) : policyOf(found.document, agent);
}
