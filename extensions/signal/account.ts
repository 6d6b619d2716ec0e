import type { BoundedMap, ChannelHost, InboundMessage, Peer } from "openclaw/plugin-sdk";
import type { SignalConfig } from "./config.ts";
import type { EventStream } from "./event-stream.ts";
import type { Person } from "./people.ts";
import type { Daemon } from "./rpc.ts";
import {
  challenge,
  limited,
  missed,
  recipientName,
  tooOld,
  untrusted,
  type RecipientResult,
  type SendProblem,
  type SignalSendReport,
} from "./failures.ts";

/** A connected account: its settings, its signal-cli and the facts about people and messages. */
export interface Account {
  readonly config: SignalConfig;
  readonly host: ChannelHost;
  readonly daemon: Daemon;
  /** Aborted when the link closes. */
  readonly signal: AbortSignal;
  /** Names of people, by id and by number. */
  readonly names: BoundedMap<string, string>;
  /** Messages by `seenKey`, for quotes. */
  readonly seen: BoundedMap<string, SeenMessage>;
  /** Problems that the operator should solve. */
  readonly notices: Notices;
  /** Resolves when signal-cli answers; starts the gateway's own. Throws `Trouble` or `OpenClawError`. */
  ready(): Promise<void>;
  /** The latest answer to a request for events. */
  stream: EventStream | undefined;
  /** The account's own identity, once known. */
  self: Person | undefined;
}

/** Parts of a message that a quote needs. */
type SeenMessage = Pick<InboundMessage, "text" | "media">;

/** A quote shows nothing of another chat: a model may name any message. */
export const seenKey = ({ chat }: Peer, messageId: string): string => `${chat.id}\n${messageId}`;

/** A longer list would not be read. */
const MOST = 20;
/** The key of the problem that Signal limits the whole account. */
const CAPTCHA = "captcha";
/** The key of the problem that signal-cli is too old. */
const VERSION = "version";

/** The problems that keep messages from recipients or may lose received ones. Each change is reported to the host. */
export class Notices {
  readonly #host: Pick<ChannelHost, "report" | "log">;
  /** Problems by recipient, or by one of the keys above. */
  readonly #open = new Map<string, SendProblem>();

  constructor(host: Pick<ChannelHost, "report" | "log">) {
    this.#host = host;
  }

  /** Records signal-cli's report on a send. `account` appears in commands for the operator. */
  sent({ results }: SignalSendReport, account: string): void {
    const all = results ?? [];
    const reached = all.filter(({ type }) => type === "SUCCESS");
    const solved = reached.map(recipientName);
    if (reached.length > 0 && !all.some(({ token }) => token)) solved.push(CAPTCHA);
    const found = all.flatMap((result) => problemOf(result, account, reached.length > 0));
    this.#change(solved, found);
  }

  /** Records that a sender has a new safety number. */
  untrusted(who: string, account: string): SendProblem {
    const remedy = untrusted(who, account);
    this.#change([], [[who, remedy]]);
    return remedy;
  }

  /** Records whether signal-cli numbers its events, so that the gateway can ask for events again. */
  events({ haveIds }: { readonly haveIds: boolean }): void {
    if (haveIds) this.#change([VERSION], []);
    else this.#change([], [[VERSION, tooOld]]);
  }

  #change(solved: readonly string[], found: readonly (readonly [string, SendProblem])[]): void {
    const before = JSON.stringify([...this.#open]);
    for (const key of solved) this.#open.delete(key);
    for (const [key, remedy] of found) {
      if (this.#open.get(key)?.problem !== remedy.problem) this.#host.log.warn(remedy.problem, { fix: remedy.fix });
      this.#open.set(key, remedy);
    }
    for (const key of this.#open.keys()) if (this.#open.size > MOST) this.#open.delete(key);
    if (JSON.stringify([...this.#open]) === before) return;
    this.#host.report({ kind: "notices", notices: [...this.#open.values()] });
  }
}

/** `isPartly`: other recipients got the message, so it is not sent again, and only the operator can act. */
function problemOf(
  result: RecipientResult,
  account: string,
  isPartly: boolean,
): readonly (readonly [string, SendProblem])[] {
  const who = recipientName(result);
  if (result.type === "IDENTITY_FAILURE") return [[who, untrusted(who, account)]];
  if (result.token) return [[CAPTCHA, challenge(result.token, account)]];
  if (!isPartly || result.type === "SUCCESS") return [];
  return [[who, result.type === "RATE_LIMIT_FAILURE" ? limited(who) : missed(who, result.type)]];
}
