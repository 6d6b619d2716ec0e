import { lstatSync } from "node:fs";
import { brokenPolicy, NO_POLICY, execPolicyOf, type ExecPolicy } from "../tools/exec/rules/policy.ts";
import { errorText } from "../utils/text/error-text.ts";
import { readApprovalsFile, type ReadApprovals } from "./exec-approvals-read.ts";

/** `exec-approvals.json`, which is read again after a change. A file that cannot be used makes every command ask. */
export class ExecApprovalsFile {
  readonly path: string;
  #stamp = "";
  #found: ReadApprovals | undefined;
  readonly #policies = new Map<string, ExecPolicy>();

  constructor(path: string) {
    this.path = path;
  }

  /** Policy of the file for an agent, as the file is now. Never throws. */
  policy(agent: string): ExecPolicy {
    this.#refresh();
    const known = this.#policies.get(agent);
    if (known) return known;
    const policy = this.#policyFor(agent);
    this.#policies.set(agent, policy);
    return policy;
  }

  #refresh(): void {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#policies.clear();
    this.#found = stamp === "" ? undefined : readApprovalsFile(this.path);
  }

  #stampNow(): string {
    try {
      const facts = lstatSync(this.path, { throwIfNoEntry: false });
      return facts ? [facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join(":") : "";
    } catch (error) {
      return `unreadable: ${errorText(error)}`;
    }
  }

  #policyFor(agent: string): ExecPolicy {
    const found = this.#found;
    if (found === undefined || found.kind === "missing") return NO_POLICY;
    if (found.kind === "read") return execPolicyOf(found.document, agent);
    return brokenPolicy(
      `${this.path} cannot be used, so every command is asked about; mend or remove it: ${found.why}`,
    );
  }
}
