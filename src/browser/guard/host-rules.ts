import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isPublicAddress } from "../../utils/net/addresses.ts";
import type { Resolve } from "../../utils/net/safe-fetch.ts";
import type { BrowserConfig } from "../config.ts";

type Policy = BrowserConfig["ssrfPolicy"];

/** Names of this machine, of its network and of the metadata services of clouds. */
const PRIVATE_NAME =
  /^(?:localhost|localhost\.localdomain|metadata\.google\.internal|.+\.(?:localhost|local|internal))$/;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

/** An address to connect to, or why there is none. */
export type Checked = { readonly address: string; readonly family: number } | { readonly refused: string };

/** Decides which hosts a page may come from. Each name is resolved here, and the connection uses the address that was checked. */
export class HostRules {
  readonly #policy: () => Policy;
  readonly #resolve: Resolve;

  constructor(policy: () => Policy, resolve: Resolve = systemResolve) {
    this.#policy = policy;
    this.#resolve = resolve;
  }

  /** Rejects when the name cannot be resolved. */
  async check(hostname: string): Promise<Checked> {
    const host = plainHost(hostname);
    const refused = this.#whyNot(host);
    if (refused !== undefined) return { refused };
    const answers = isIP(host) === 0 ? await this.#resolve(host) : [{ address: host, family: isIP(host) }];
    const [first] = answers;
    if (!first) return { refused: `${host} has no address` };
    // One private address among public ones is how a rebinding attack looks.
    const isOpen = this.#isPrivateAllowed(host) || answers.every(({ address }) => isPublicAddress(address));
    return isOpen ? first : { refused: `${host} is not on the public internet` };
  }

  #whyNot(host: string): string | undefined {
    const { blockedHostnames, hostnameAllowlist } = this.#policy();
    if (blockedHostnames.some((pattern) => matches(host, pattern))) return `the config blocks ${host}`;
    const isListed = hostnameAllowlist.length === 0 || hostnameAllowlist.some((pattern) => matches(host, pattern));
    if (!isListed) return `the config does not list ${host}`;
    if (PRIVATE_NAME.test(host) && !this.#isPrivateAllowed(host)) return `${host} is not on the public internet`;
    return undefined;
  }

  #isPrivateAllowed(host: string): boolean {
    const { dangerouslyAllowPrivateNetwork, allowedHostnames } = this.#policy();
    return dangerouslyAllowPrivateNetwork || allowedHostnames.some((name) => plainHost(name) === host);
  }
}

const plainHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");

/** `*.example.com` means every host below it. */
function matches(host: string, pattern: string): boolean {
  const plain = plainHost(pattern);
  return plain.startsWith("*.") ? host.endsWith(plain.slice(1)) : host === plain;
}
