import {
  BoundedMap,
  type ChannelLink,
  type NativeStream,
  type StreamOptions,
  type OutboundPart,
  type Peer,
  type SendOptions,
  type SendResult,
} from "openclaw/plugin-sdk";
import { z } from "zod";
import { outcomeOf, outcomeOfResults, sendReport, type SignalSendReport, type Unsent } from "../failures.ts";
import { addressOf, readRef, recipientOf, isSame, personOf, type Person } from "../people.ts";
import { type Account, seenKey } from "../account.ts";
import { whyNot, type CallAnswer, type Daemon } from "../rpc.ts";

type TextPart = Extract<OutboundPart, { kind: "text" }>;
type Params = Readonly<Record<string, unknown>>;

/** The chat as a parameter of signal-cli's `send`. */
export const target = ({ chat }: Peer): Params =>
  chat.kind === "group" ? { groupId: chat.id } : { recipient: [recipientOf(chat.id)] };

/** The message that is answered. The apps find it even without its text. */
export function quoted({ self = {}, seen }: Account, to: Peer, { replyTo }: Pick<SendOptions, "replyTo">): Params {
  const ref = replyTo === undefined ? undefined : readRef(replyTo);
  const author = ref && (ref.author ?? addressOf(self));
  if (!ref || replyTo === undefined || author === undefined) return {};
  const quoteMessage = seen.get(seenKey(to, replyTo))?.text ?? "";
  return { quoteTimestamp: ref.timestamp, quoteAuthor: author, quoteMessage };
}

/** Messages stay without a keep-alive; timers are limited to 24 days. */
const NO_KEEP_ALIVE_MS = 24 * 3_600_000;

/** Calls with an effect that people see. None rejects. */
export class SignalSender {
  readonly #account: Account;
  readonly #edits = new Edits();
  readonly #members: Members;
  /** The result of the last send is unknown. */
  #mayBeOffline = false;

  constructor(account: Account) {
    this.#account = account;
    this.#members = new Members(account.daemon);
  }

  /** Text with its styles and mentions, as parameters of `send`; offsets are UTF-16 units on both sides. */
  async textParams(to: Peer, { body, styles = [] }: TextPart): Promise<Params> {
    const mention = await this.#members.namedIn(body, to);
    return {
      message: body,
      ...(styles.length > 0 && { textStyle: styles.map(({ start, length, style }) => `${start}:${length}:${style}`) }),
      ...(mention.length > 0 && { mention }),
    };
  }

  /** Makes a call that sends. The id of a sent message is its timestamp. */
  async send(method: string, params: Params): Promise<SendResult> {
    const offline = this.#mayBeOffline ? await this.#whyOffline() : undefined;
    if (offline) return offline;
    const { daemon } = this.#account;
    const answer = await daemon.call(method, params);
    const result = this.#resultOf(answer);
    this.#mayBeOffline = result.kind === "unknown";
    return result;
  }

  #resultOf(answer: CallAnswer): SendResult {
    if (answer.kind === "lost") return answer.outcome;
    if (answer.kind === "error") {
      this.#noteReport(answer.error.report);
      return outcomeOf(answer.error);
    }
    const report = sendReport.safeParse(answer.result).data;
    this.#noteReport(report);
    return reported(report);
  }

  /**
   * A message whose result is unknown is sent a second time, but not a third. So the second attempt waits until Signal is reachable:
   * until then, nothing is sent for certain.
   */
  async #whyOffline(): Promise<Unsent | undefined> {
    const answer = await this.#account.daemon.call("listDevices", {});
    if (answer.kind === "done") return undefined;
    return { kind: "retry", reason: `signal-cli has no connection to Signal: ${whyNot(answer)}` };
  }

  #noteReport(report: SignalSendReport | undefined): void {
    const { notices, self = {} } = this.#account;
    if (report) notices.sent(report, self.number ?? addressOf(self) ?? "<account>");
  }

  /** Sends a text message. */
  async sendText(to: Peer, part: TextPart, options: Pick<SendOptions, "replyTo">): Promise<SendResult> {
    const text = await this.textParams(to, part);
    const result = await this.send("send", { ...target(to), ...text, ...quoted(this.#account, to, options) });
    if (result.kind === "sent") this.#edits.sent(result.messageId, JSON.stringify(text));
    return result;
  }

  async edit(to: Peer, messageId: string, part: TextPart): Promise<SendResult> {
    const ref = readRef(messageId);
    if (!ref || ref.author !== undefined) return { kind: "refused", reason: "it is not a message of ours" };
    const text = await this.textParams(to, part);
    const shown = JSON.stringify(text);
    if (this.#edits.isShown(messageId, shown)) return { kind: "sent", messageId };
    const whyNot = this.#edits.whyNot(ref.timestamp);
    if (whyNot !== undefined) return { kind: "refused", reason: whyNot };
    const result = await this.send("send", { ...target(to), ...text, editTimestamp: ref.timestamp });
    if (result.kind === "unknown") this.#edits.edited(messageId);
    if (result.kind !== "sent") return result;
    this.#edits.edited(messageId, shown);
    return { kind: "sent", messageId };
  }

  /** Shows an answer while it is written as one message. Its last edits are reserved for the final answer. */
  stream(to: Peer, { replyTo }: Pick<StreamOptions, "replyTo">): NativeStream {
    let messageId: string | undefined;
    return {
      isMessage: true,
      keepAliveMs: NO_KEEP_ALIVE_MS,
      show: async (part) => {
        if (messageId !== undefined && !this.#edits.allowsPreviewEdit(messageId)) {
          return { kind: "retry", reason: "the last edits of this message are reserved for the final answer" };
        }
        if (messageId !== undefined) return this.edit(to, messageId, part);
        const result = await this.sendText(to, part, replyTo === undefined ? {} : { replyTo });
        if (result.kind === "sent") messageId = result.messageId;
        return result;
      },
      keepAlive: async () => ({ kind: "sent", messageId: messageId ?? "" }),
    };
  }

  async remove(to: Peer, messageId: string): Promise<SendResult> {
    const ref = readRef(messageId);
    if (!ref || ref.author !== undefined) return { kind: "refused", reason: "it is not a message of ours" };
    const result = await this.send("remoteDelete", { ...target(to), targetTimestamp: ref.timestamp });
    return result.kind === "sent" ? { kind: "sent", messageId } : result;
  }
}

function reported(report: SignalSendReport | undefined): SendResult {
  const failed = report?.results?.length ? outcomeOfResults(report.results) : undefined;
  if (failed) return failed;
  const timestamp = report?.timestamp ?? undefined;
  if (timestamp === undefined) return { kind: "unknown", reason: "signal-cli did not say what it sent" };
  return { kind: "sent", messageId: String(timestamp) };
}

type Signs = Required<Pick<ChannelLink, "react" | "typing" | "endTyping">>;

/** Reactions and "typing…". */
export function signs(account: Account, outgoing: SignalSender): Signs {
  const last = new BoundedMap<string, string>(1000);
  return {
    async react(to, messageId, emoji) {
      const ref = readRef(messageId);
      const targetAuthor = ref && (ref.author ?? addressOf(account.self ?? {}));
      if (!ref || targetAuthor === undefined) return { kind: "refused", reason: "it is not a message of Signal" };
      const before = last.get(messageId);
      // A removal may name any emoji: each person has only one reaction to a message.
      const shown = emoji ?? before ?? "👍";
      const remove = emoji === undefined;
      const params = { emoji: shown, targetAuthor, targetTimestamp: ref.timestamp, remove };
      const result = await outgoing.send("sendReaction", { ...target(to), ...params });
      if (result.kind !== "sent") return result;
      last.set(messageId, shown);
      return { kind: "sent", messageId };
    },
    async typing(to) {
      const answer = await account.daemon.call("sendTyping", target(to), { timeoutMs: TYPING_MS });
      if (answer.kind !== "done") account.host.log.info("typing was not shown", { reason: whyNot(answer) });
    },
    async endTyping(to) {
      const answer = await account.daemon.call("sendTyping", { ...target(to), stop: true }, { timeoutMs: TYPING_MS });
      if (answer.kind !== "done") account.host.log.info("typing was not ended", { reason: whyNot(answer) });
    },
  };
}

/** The apps hide "typing…" after 15 s. */
const TYPING_MS = 10_000;

/**
 * The apps silently drop an edit after 100 revisions of one message or 48 hours after it (Signal-iOS, EditManagerImpl
 * `maxReceiveEdits`, `editWindowMilliseconds`). Our limit is lower, because an edit that seemed lost may have arrived.
 */
const MOST_EDITS = 95;
const EDITABLE_MS = 48 * 3_600_000;
/** The edits of a preview; the others are left for the final answer. */
const MOST_PREVIEW_EDITS = 80;
/** The assumed edits of a message from an earlier connection, which may have been a complete preview. */
const ASSUMED_EDITS = 85;

/** Counts the edits of our messages. */
class Edits {
  readonly #counts = new BoundedMap<string, number>(1000);
  readonly #last = new BoundedMap<string, string>(100);

  /** Records a new message with this text. */
  sent(messageId: string, words: string): void {
    this.#counts.set(messageId, 0);
    this.#last.set(messageId, words);
  }

  /** Records an edit; without a text, it is unknown whether the edit arrived. */
  edited(messageId: string, words = ""): void {
    this.#counts.set(messageId, this.#done(messageId) + 1);
    this.#last.set(messageId, words);
  }

  /** True when the message already has this text. */
  isShown(messageId: string, words: string): boolean {
    return this.#last.get(messageId) === words;
  }

  /** Why the apps would not show another edit of a message with this timestamp; undefined when they would. */
  whyNot(timestamp: number): string | undefined {
    if (Date.now() - timestamp > EDITABLE_MS) return "Signal's apps show no edit of a message that old";
    const isSpent = this.#done(String(timestamp)) >= MOST_EDITS;
    return isSpent ? "Signal's apps show no more edits of this message" : undefined;
  }

  /** Whether a preview may still be edited. */
  allowsPreviewEdit(messageId: string): boolean {
    return this.#done(messageId) < MOST_PREVIEW_EDITS;
  }

  #done(messageId: string): number {
    return this.#counts.get(messageId) ?? ASSUMED_EDITS;
  }
}

const member = z.union([
  z.string().transform((either) => personOf(undefined, undefined, either)),
  z
    .looseObject({ number: z.string().nullish(), uuid: z.string().nullish() })
    .transform(({ number, uuid }) => personOf(uuid, number)),
]);
const groupList = z.array(z.looseObject({ id: z.string(), members: z.array(member) }));

/** How long a list of members is used, and how long a send waits for one. */
const FRESH_MS = 5 * 60_000;
const ASK_MS = 3000;
/** The pause after a failed request, as a streamed answer would repeat it with each edit. */
const AGAIN_MS = 30_000;

/** An `@` with a phone number or a Signal id, which identify one member. */
const NAMED = /(?<![\w@])@(?:(\+\d{7,15})|(?:uuid:)?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}))\b/gi;

/** The members of groups, for mentions in texts. */
class Members {
  readonly #daemon: Daemon;
  readonly #known = new BoundedMap<string, { readonly people: readonly Person[]; readonly until: number }>(200);

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /**
   * The members of a group that a text mentions, in the form of signal-cli's `send`: `start:length:recipient`, in UTF-16 units of the
   * text (man page signal-cli(1), `--mention`). Never rejects.
   */
  async namedIn(text: string, { chat }: Peer): Promise<readonly string[]> {
    if (chat.kind !== "group" || text.search(NAMED) < 0) return [];
    const people = await this.#of(chat.id);
    return [...text.matchAll(NAMED)].flatMap((match) => {
      const [word, number, uuid] = match;
      const named = { number, uuid: uuid?.toLowerCase() };
      const person = people.find((one) => isSame(one, named));
      const address = person && addressOf(person);
      return address === undefined ? [] : [`${match.index}:${word.length}:${address}`];
    });
  }

  async #of(groupId: string): Promise<readonly Person[]> {
    const known = this.#known.get(groupId);
    if (known && known.until > Date.now()) return known.people;
    const answer = await this.#daemon.call("listGroups", { groupId: [groupId] }, { timeoutMs: ASK_MS });
    const groups = answer.kind === "done" ? groupList.safeParse(answer.result).data : undefined;
    // Without an answer, an older list is used; without a list, the text stays as it is.
    const people = groups ? (groups.find(({ id }) => id === groupId)?.members ?? []) : (known?.people ?? []);
    this.#known.set(groupId, { people, until: Date.now() + (groups ? FRESH_MS : AGAIN_MS) });
    return people;
  }
}
