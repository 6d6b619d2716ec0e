import type { ChannelHost } from "openclaw/plugin-sdk";
import { challenge, limited, missed, nameOf, untrusted } from "../failures.ts";
import type { RecipientResult, Remedy, SendReport } from "../failures.ts";

/** More would not be read. */
const MOST = 20;
/** The one problem that is the account's, and nobody's among its recipients. */
const CAPTCHA = "captcha";

/** What the operator has to see to so that everybody is reached again. The host is told whenever that changes. */
export class Notices {
  readonly #host: Pick<ChannelHost, "report" | "log">;
  /** By recipient. */
  readonly #open = new Map<string, Remedy>();

  constructor(host: Pick<ChannelHost, "report" | "log">) {
    this.#host = host;
  }

  /** What signal-cli says of a send. `account` is shown in commands. */
  sent({ results }: SendReport, account: string): void {
    const all = results ?? [];
    const reached = all.filter(({ type }) => type === "SUCCESS");
    const over = reached.map(nameOf);
    if (reached.length > 0 && !all.some(({ token }) => token)) over.push(CAPTCHA);
    const found = all.flatMap((result) => problemOf(result, account, reached.length > 0));
    this.#change(over, found);
  }

  /** Somebody wrote with a safety number that is new. */
  untrusted(who: string, account: string): Remedy {
    const remedy = untrusted(who, account);
    this.#change([], [[who, remedy]]);
    return remedy;
  }

  #change(over: readonly string[], found: readonly (readonly [string, Remedy])[]): void {
    const before = JSON.stringify([...this.#open]);
    for (const key of over) this.#open.delete(key);
    for (const [key, remedy] of found) {
      if (this.#open.get(key)?.problem !== remedy.problem) this.#host.log.warn(remedy.problem, { fix: remedy.fix });
      this.#open.set(key, remedy);
    }
    for (const key of this.#open.keys()) if (this.#open.size > MOST) this.#open.delete(key);
    if (JSON.stringify([...this.#open]) === before) return;
    this.#host.report({ kind: "notices", notices: [...this.#open.values()] });
  }
}

/** `isPartly`: others got the message, so that it is not sent again and only the operator can be told. */
function problemOf(
  result: RecipientResult,
  account: string,
  isPartly: boolean,
): readonly (readonly [string, Remedy])[] {
  const who = nameOf(result);
  if (result.type === "IDENTITY_FAILURE") return [[who, untrusted(who, account)]];
  if (result.token) return [[CAPTCHA, challenge(result.token, account)]];
  if (!isPartly || result.type === "SUCCESS") return [];
  return [[who, result.type === "RATE_LIMIT_FAILURE" ? limited(who) : missed(who, result.type)]];
}
