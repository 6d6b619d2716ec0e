import { randomUUID } from "node:crypto";
import { ownError, ownStep } from "../../../channels/own-keys.ts";
import type { ConfiguredAccount, LibraryRequest } from "../../../channels/ports.ts";
import type { ChannelLog, LoginStep } from "../../../types/chat/channel.ts";
import { OpenClawError } from "../../../types/errors.ts";
import type { Clock } from "../../../types/clock.ts";
import type { LoginView } from "../../../types/answers/channels.ts";
import { MethodError } from "../../../types/method.ts";
import { errorText } from "../../../utils/text/error-text.ts";
import { background } from "../../../utils/background.ts";

/** The functions that a login needs. */
export interface LoginPorts {
  readonly clock: Clock;
  readonly log: ChannelLog;
  folder(account: ConfiguredAccount): Promise<string>;
  library(wish: LibraryRequest): Promise<string>;
  /** Closes the account's connection, so that only the login uses its keys. The returned function opens it again. */
  pause(account: ConfiguredAccount): Promise<() => Promise<void>>;
}

/** Milliseconds after which an unfinished login ends. */
const LONGEST_MS = 10 * 60_000;
/** Number of ended logins whose result is kept. */
const MOST_KEPT = 20;

interface Login {
  readonly account: ConfiguredAccount;
  readonly steps: LoginStep[];
  readonly abort: AbortController;
  state: LoginView["state"];
  end: Pick<LoginView, "self" | "error" | "fix" | "code">;
  /** Resolves with the next change. */
  changed: PromiseWithResolvers<void>;
}

/** The current logins, at most one for each account. Clients poll their state. */
export class Logins {
  readonly #ports: LoginPorts;
  readonly #logins = new Map<string, Login>();

  constructor(ports: LoginPorts) {
    this.#ports = ports;
  }

  /** Begins to link an account, and cancels its earlier login. Throws `MethodError` if the channel has no login. */
  start(account: ConfiguredAccount, phone: string | undefined): LoginView {
    const { adapter } = account;
    if (!adapter.login) throw new MethodError("INVALID_REQUEST", `${adapter.label} needs no login, only its settings`);
    for (const login of this.#logins.values()) {
      if (login.account.adapter.id === adapter.id && login.account.account === account.account) login.abort.abort();
    }
    const loginId = randomUUID();
    const login: Login = {
      account,
      steps: [],
      abort: new AbortController(),
      state: "waiting",
      end: {},
      changed: Promise.withResolvers(),
    };
    this.#logins.set(loginId, login);
    const oldest = [...this.#logins].find(([, { state }]) => state !== "waiting");
    if (this.#logins.size > MOST_KEPT && oldest) this.#logins.delete(oldest[0]);
    background("channel login", this.#run(login, phone));
    return viewOf(loginId, login, 0);
  }

  /** The state: immediately if there are steps after `from`, else after at most `ms`. Throws NOT_FOUND. */
  async wait(loginId: string, from: number, ms: number): Promise<LoginView> {
    const login = this.#find(loginId);
    if (ms > 0 && login.state === "waiting" && login.steps.length <= from) {
      const late = Promise.withResolvers<void>();
      const cancel = this.#ports.clock.after(ms, late.resolve);
      await Promise.race([login.changed.promise, late.promise]);
      cancel();
    }
    return viewOf(loginId, login, from);
  }

  /** Cancels a login; does nothing if it has ended. Throws NOT_FOUND. */
  cancel(loginId: string): void {
    this.#find(loginId).abort.abort();
  }

  close(): void {
    for (const login of this.#logins.values()) login.abort.abort();
  }

  #find(loginId: string): Login {
    const login = this.#logins.get(loginId);
    if (!login) throw new MethodError("NOT_FOUND", "there is no such login");
    return login;
  }

  async #run(login: Login, phone: string | undefined): Promise<void> {
    const { account, abort } = login;
    const cancel = this.#ports.clock.after(LONGEST_MS, () => abort.abort());
    try {
      const self = await this.#linkAlone(login, phone);
      tell(login, () => {
        login.state = "linked";
        login.end = { ...(self && { self }) };
      });
    } catch (error) {
      this.#ports.log.warn("not linked", { channel: account.adapter.id, account: account.account, error });
      tell(login, () => {
        login.state = "failed";
        login.end = abort.signal.aborted ? { error: "It was given up." } : failureOf(ownError(error, account));
      });
    } finally {
      cancel();
    }
  }

  async #linkAlone(login: Login, phone: string | undefined) {
    const resume = await this.#ports.pause(login.account);
    try {
      return await this.#link(login, phone);
    } finally {
      await resume();
    }
  }

  #link(login: Login, phone: string | undefined) {
    const { adapter, config, account } = login.account;
    const show = (step: LoginStep): void => tell(login, () => login.steps.push(ownStep(step, login.account)));
    return Promise.resolve(
      adapter.login?.(config, {
        account,
        signal: login.abort.signal,
        log: this.#ports.log,
        folder: () => this.#ports.folder(login.account),
        library: (name) =>
          this.#ports.library({
            channel: adapter.id,
            name,
            signal: login.abort.signal,
            fetching: (words) => show({ kind: "text", text: `${words} …` }),
          }),
        show,
        ...(phone !== undefined && { phone }),
      }),
    );
  }
}

function tell(login: Login, change: () => void): void {
  change();
  login.changed.resolve();
  login.changed = Promise.withResolvers();
}

function failureOf(error: unknown): Login["end"] {
  if (!(error instanceof OpenClawError)) return { error: errorText(error) };
  return { error: error.message, fix: error.fix, code: error.code };
}

const viewOf = (loginId: string, login: Login, from: number): LoginView => ({
  loginId,
  state: login.state,
  steps: login.steps.slice(from),
  next: login.steps.length,
  ...login.end,
});
