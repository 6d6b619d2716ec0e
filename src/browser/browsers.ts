import type { Resolve } from "../utils/net/safe-fetch.ts";
import { BrowserHostRules } from "./guard/host-rules.ts";
import { ProfileSession, type BrowserPorts } from "./profile-session.ts";

/** The browsers of the gateway, one for each profile. None is started before a call needs it. */
export class Browsers {
  readonly rules: BrowserHostRules;
  readonly ports: BrowserPorts;
  readonly #sessions = new Map<string, ProfileSession>();

  /** `resolve`: the system's resolver unless given. */
  constructor(ports: BrowserPorts, resolve?: Resolve) {
    this.ports = ports;
    this.rules = new BrowserHostRules(() => ports.config().ssrfPolicy, resolve);
  }

  get profiles(): readonly string[] {
    const { defaultProfile, profiles } = this.ports.config();
    return [...new Set([defaultProfile, ...Object.keys(profiles)])];
  }

  /** Throws a text for the model for a profile that the config does not have. */
  session(name = this.ports.config().defaultProfile): ProfileSession {
    if (!this.profiles.includes(name))
      throw new Error(`There is no profile "${name}". There are: ${this.profiles.join(", ")} (browser.profiles).`);
    const session = this.#sessions.get(name) ?? new ProfileSession(name, this.ports, this.rules);
    this.#sessions.set(name, session);
    return session;
  }

  /** Ends all browsers. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }
}
