import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { areAllowed, whyHostRefused, type HostRules as NetRules } from "../../utils/net/host-rules.ts";
import type { Resolve } from "../../utils/net/safe-fetch.ts";
import type { BrowserConfig } from "../config.ts";

type Policy = BrowserConfig["ssrfPolicy"];

const systemResolve: Resolve = (host) => lookup(host, { all: true });

/** An address to connect to, or why there is none. */
export type CheckedHost = { readonly address: string; readonly family: number } | { readonly refused: string };

/** Decides which hosts a page may come from. Each name is resolved here, and the connection uses the address that was checked. */
export class BrowserHostRules {
  readonly #policy: () => Policy;
  readonly #resolve: Resolve;

  constructor(policy: () => Policy, resolve: Resolve = systemResolve) {
    this.#policy = policy;
    this.#resolve = resolve;
  }

  /** Rejects when the name cannot be resolved. */
  async check(hostname: string): Promise<CheckedHost> {
    const rules = rulesOf(this.#policy());
    const host = hostname.replace(/^\[|\]$/g, "");
    const why = whyHostRefused(host, rules);
    if (why !== undefined) return { refused: `${host} ${why}` };
    const answers = isIP(host) === 0 ? await this.#resolve(host) : [{ address: host, family: isIP(host) }];
    const [first] = answers;
    const isAllowed = areAllowed(
      host,
      answers.map(({ address }) => address),
      rules,
    );
    return first && isAllowed ? first : { refused: `${host} is not on the public internet` };
  }
}

const rulesOf = (policy: Policy): NetRules => ({
  privateHosts: policy.allowedHostnames,
  allowPrivate: policy.dangerouslyAllowPrivateNetwork,
  onlyHosts: policy.hostnameAllowlist,
  blockedHosts: policy.blockedHostnames,
});
