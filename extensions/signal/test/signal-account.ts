import fs from "node:fs";

/** A daemon's accounts; absent: it was started only for `self`. */
export type Accounts = readonly { readonly number: string | null; readonly aci?: string }[] | undefined;

/** How a call fails; the last three only for sends. */
export type Fault = "drop" | "lost" | "500" | "hang" | "limited" | "captcha" | "unregistered" | "untrusted" | "network";

/** The result for members of a group; everybody else gets the message. */
export type Fates = Readonly<Record<string, Params>>;

export interface FakeMessage {
  readonly chat: string;
  readonly timestamp: number;
  text: string;
  styles: readonly string[];
  readonly attachments: readonly { readonly uri: string; readonly bytes: Buffer }[];
  readonly params: Readonly<Record<string, unknown>>;
  deleted: boolean;
  edits: number;
}

export type Params = Record<string, unknown>;

class RpcError extends Error {
  readonly code: number;
  readonly response: unknown;
  constructor(code: number, message: string, response?: unknown) {
    super(message);
    this.code = code;
    this.response = response;
  }
}

export const SELF = { number: "+15550009999", uuid: "99999999-9999-4999-8999-999999999999" };
export const ADA = { number: "+15550001001", uuid: "11111111-1111-4111-8111-111111111111", name: "Ada Byron" };

const ANSWERS: Readonly<Record<string, unknown>> = {
  listDevices: [{ id: 1, name: null, createdTimestamp: 0, lastSeenTimestamp: 0 }],
  getUserStatus: [{ recipient: SELF.number, number: SELF.number, uuid: SELF.uuid, isRegistered: true }],
};

/** What calls of the daemon do, and what Signal has afterwards. It knows nothing of HTTP. */
export class SignalAccount {
  readonly messages: FakeMessage[] = [];
  readonly calls: { readonly method: string; readonly params: Params }[] = [];
  readonly reactions = new Map<string, string[]>();
  readonly attachments = new Map<string, Buffer>();
  /** The group's members, by id; a send to it has a result for each. */
  members: readonly { readonly number: string | null; readonly uuid: string }[] = [ADA];
  fates: Fates = {};
  groupIds: readonly string[] = [];
  readonly #accounts: Accounts;
  #lastTime = 0;

  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /** Signal has no two messages of one person with one timestamp. */
  now(): number {
    this.#lastTime = Math.max(Date.now(), this.#lastTime + 1);
    return this.#lastTime;
  }

  /** The JSON-RPC answer: its `result` or its `error`. */
  answer(method: string, params: Params, fault: Fault | undefined): Params {
    this.calls.push({ method, params });
    try {
      return { result: this.#run(method, params, fault) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const data = error.response === undefined ? null : { response: error.response };
      return { error: { code: error.code, message: error.message, data } };
    }
  }

  #run(method: string, params: Params, fault: Fault | undefined): unknown {
    const accounts = this.#accounts;
    if (fault === "network" && method !== "send") throw new RpcError(-3, "Failed to connect (ConnectException)");
    if (method === "listAccounts") {
      if (!accounts) throw new RpcError(-32_601, "Method not implemented");
      return accounts;
    }
    if (accounts && method === "startLink") return { deviceLinkUri: "sgnl://linkdevice?uuid=X&pub_key=X" };
    if (accounts && method === "finishLink") return { number: SELF.number, aci: SELF.uuid };
    if (accounts && !accounts.some(({ number, aci }) => [number, aci].includes(String(params["account"])))) {
      throw new RpcError(-32_602, "Specified account does not exist");
    }
    return this.#served(method, params, fault);
  }

  #served(method: string, params: Params, fault: Fault | undefined): unknown {
    switch (method) {
      case "send":
      case "remoteDelete":
      case "sendReaction":
        return this.#send(method, params, fault);
      case "listGroups":
        return this.groupIds.map((id) => ({ id, isMember: true, members: this.members }));
      case "sendTyping":
      case "sendReceipt":
        return { timestamp: this.now(), results: [result(params, "SUCCESS")] };
      case "listDevices":
        if (fault !== "unregistered") return ANSWERS[method];
        throw new RpcError(-3, "Failed to get linked devices: [401] Authorization failed!");
      case "getAttachment":
        return this.#file(params["id"]);
      case "getSticker":
        return this.#file(params["packId"]);
      default:
        if (!Object.hasOwn(ANSWERS, method)) throw new RpcError(-32_601, "Method not implemented");
        return ANSWERS[method];
    }
  }

  #file(id: unknown): unknown {
    const bytes = typeof id === "string" ? this.attachments.get(id) : undefined;
    if (!bytes) throw new RpcError(-32_603, "An error occurred reading attachment");
    return { data: bytes.toString("base64") };
  }

  #send(method: string, params: Params, fault: Fault | undefined): unknown {
    const timestamp = this.now();
    const chat = chatOf(params);
    if (fault && fault !== "lost") throw refusal(fault, timestamp, params);
    if (method === "sendReaction") this.#react(params);
    else if (method === "remoteDelete") this.#own(params["targetTimestamp"]).deleted = true;
    else this.#speak(params, chat, timestamp);
    return { timestamp, results: this.#results(params) };
  }

  /** A send to a group succeeds if it reached one member (`SendMessageResultUtils`). */
  #results(params: Params): readonly Params[] {
    const { groupId } = params;
    if (typeof groupId !== "string") return [result(params, "SUCCESS")];
    return this.members.map(({ number, uuid }) => {
      const recipientAddress = { uuid, number, username: null };
      return { recipientAddress, groupId, type: "SUCCESS", ...this.fates[uuid] };
    });
  }

  #speak(params: Params, chat: string, timestamp: number): void {
    const text = typeof params["message"] === "string" ? params["message"] : "";
    const styles = list(params["textStyle"]);
    for (const style of styles) {
      const [, start, length] = /^(\d+):(\d+):(?:BOLD|ITALIC|STRIKETHROUGH|SPOILER|MONOSPACE)$/.exec(style) ?? [];
      if (start === undefined)
        throw new RpcError(-1, `Invalid textStyle syntax (${style}) expected 'start:length:STYLE'`);
      if (Number(start) + Number(length) > text.length) throw new RpcError(-32_603, "style out of range");
    }
    this.#checkMentions(params, text);
    if (params["editTimestamp"] !== undefined) {
      const message = this.#own(params["editTimestamp"]);
      message.text = text;
      message.styles = styles;
      message.edits += 1;
      return;
    }
    const attachments = list(params["attachments"]).map(readAttachment);
    if (text === "" && attachments.length === 0) throw new RpcError(-1, "Sending empty message is not allowed");
    this.messages.push({ chat, timestamp, text, styles, attachments, params, deleted: false, edits: 0 });
  }

  /** `--mention` of signal-cli(1): `start:length:recipientNumber`, in UTF-16 code units. */
  #checkMentions(params: Params, text: string): void {
    for (const mention of list(params["mention"])) {
      const [, start = "", length = "", who] = /^(\d+):(\d+):(.+)$/.exec(mention) ?? [];
      if (who === undefined) {
        throw new RpcError(-1, `Invalid mention syntax (${mention}) expected 'start:length:recipientNumber'`);
      }
      const isKnown = this.members.some(({ number, uuid }) => who === number || who === uuid);
      if (!isKnown || Number(start) + Number(length) > text.length) throw new RpcError(-32_603, "mention out of range");
    }
  }

  /** The members whose names the apps show instead of the written text. */
  namesIn({ text, params }: FakeMessage): string {
    const ranges = list(params["mention"]).map((mention) => mention.split(":"));
    return ranges.reduceRight((shown, [start, length, who = ""]) => {
      const end = Number(start) + Number(length);
      return `${shown.slice(0, Number(start))}[${who}]${shown.slice(end)}`;
    }, text);
  }

  #react(params: Params): void {
    const key = String(params["targetTimestamp"]);
    if (typeof params["emoji"] !== "string") throw new RpcError(-1, "emoji is required");
    this.reactions.set(key, params["remove"] === true ? [] : [params["emoji"]]);
  }

  #own(timestamp: unknown): FakeMessage {
    const message = this.messages.find((one) => one.timestamp === timestamp);
    if (!message) throw new RpcError(-1, `no message of ours at ${String(timestamp)}`);
    return message;
  }
}

const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function chatOf(params: Params): string {
  const [recipient] = list(params["recipient"]);
  const chat = params["groupId"] ?? recipient;
  if (typeof chat !== "string" || chat === "") throw new RpcError(-1, "No recipients given");
  return chat;
}

function result(params: Params, type: string, more: Params = {}): Params {
  const to = chatOf({ ...params, recipient: [params["recipient"] ?? []].flat() });
  const number = to.startsWith("+") ? to : null;
  return { recipientAddress: { uuid: number === null ? to : null, number, username: null }, type, ...more };
}

function refusal(fault: Fault, timestamp: number, params: Params): RpcError {
  const report = (type: string, more: Params = {}): Params => ({ timestamp, results: [result(params, type, more)] });
  switch (fault) {
    case "limited":
      return new RpcError(
        -5,
        "Failed to send message due to rate limiting",
        report("RATE_LIMIT_FAILURE", { retryAfterSeconds: 1 }),
      );
    case "captcha":
      return new RpcError(
        -5,
        "Failed to send message due to rate limiting",
        report("RATE_LIMIT_FAILURE", { token: "abc-challenge", retryAfterSeconds: 86_400 }),
      );
    case "untrusted":
      return new RpcError(-4, "Failed to send message due to untrusted identities", report("IDENTITY_FAILURE"));
    case "network":
      return new RpcError(-1, "Failed to send message", report("NETWORK_FAILURE"));
    default:
      return new RpcError(-1, "Failed to send message", report("UNREGISTERED_FAILURE"));
  }
}

/** A data URI as `DataURI` reads it, or a file of this machine. */
function readAttachment(uri: string): { uri: string; bytes: Buffer } {
  const [, data] = /^data:[\w/+.-]+(?:;filename=[^;,]+)?;base64,(.*)$/s.exec(uri) ?? [];
  if (data !== undefined) return { uri, bytes: Buffer.from(data, "base64") };
  if (!uri.startsWith("/")) throw new RpcError(-32_603, `Failed to send message: ${uri} (AttachmentInvalidException)`);
  return { uri, bytes: fs.readFileSync(uri) };
}
