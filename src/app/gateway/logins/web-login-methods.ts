import { z } from "zod";
import type { ConfiguredAccount } from "../../../channels/ports.ts";
import type { LoginView } from "../../../types/answers/channels.ts";
import type { Clock } from "../../../types/clock.ts";
import { DEFAULT_ACCOUNT } from "../../../types/ids.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { Logins } from "./logins.ts";

interface WebLoginPorts {
  readonly logins: Logins;
  readonly clock: Clock;
  accounts(): Promise<readonly ConfiguredAccount[]>;
  isConnected(account: ConfiguredAccount): boolean;
  /** Ends the link of an account. */
  logout(account: ConfiguredAccount): Promise<void>;
}

const MOST_MS = 10 * 60_000;

const asked = {
  channel: z.string().min(1).optional(),
  accountId: z.string().optional(),
};
const startParams = z.looseObject({
  ...asked,
  /** Links the account anew. */
  force: z.boolean().optional(),
  timeoutMs: z.int().min(0).max(MOST_MS).default(30_000),
});
const waitParams = z.looseObject({
  ...asked,
  /** As `web.login.start` has named the login; the last one of the account when unset. */
  sessionKey: z.string().optional(),
  /** The code that the client shows: the answer comes with another one, or with the end. */
  currentQrDataUrl: z.string().max(16_384).optional(),
  timeoutMs: z.int().min(0).max(MOST_MS).default(120_000),
});
const result = z.looseObject({
  message: z.string(),
  /** A PNG picture. */
  qrDataUrl: z.string().optional(),
  connected: z.boolean().optional(),
  /** Names the login, and no conversation. */
  sessionKey: z.string().optional(),
});

/** The methods with which OpenClaw's clients link an account by a QR code. The gateway's own ones are `channels.login.*`. */
export function webLoginMethods(ports: WebLoginPorts): readonly Method[] {
  const last = new Map<string, string>();
  return [
    defineMethod({
      name: "web.login.start",
      mayWait: true,
      scope: "operator.admin",
      params: startParams,
      result,
      async run({ force = false, timeoutMs, ...named }) {
        const account = await accountOf(named, ports);
        if (!force && ports.isConnected(account))
          return { connected: true, message: `${account.adapter.label} is linked already.` };
        if (force) await ports.logout(account);
        const { loginId } = ports.logins.start(account, undefined);
        last.set(nameOf(account), loginId);
        return answerOf(loginId, account, await changeOf(loginId, "", timeoutMs, ports));
      },
    }),
    defineMethod({
      name: "web.login.wait",
      mayWait: true,
      scope: "operator.admin",
      params: waitParams,
      result,
      async run({ sessionKey, currentQrDataUrl = "", timeoutMs, ...named }) {
        const account = await accountOf(named, ports);
        const loginId = sessionKey ?? last.get(nameOf(account));
        if (loginId === undefined) throw refused("no login has begun: call web.login.start");
        return answerOf(loginId, account, await changeOf(loginId, currentQrDataUrl, timeoutMs, ports));
      },
    }),
  ];
}

const nameOf = ({ adapter, account }: ConfiguredAccount) => `${adapter.id}:${account}`;

const refused = (message: string): MethodError => new MethodError("INVALID_REQUEST", message);

async function accountOf(
  { channel, accountId = "" }: { readonly channel?: string | undefined; readonly accountId?: string | undefined },
  { accounts }: WebLoginPorts,
): Promise<ConfiguredAccount> {
  const named = channel?.trim().toLowerCase();
  const ofChannel = (await accounts()).filter(({ adapter }) => named === undefined || adapter.id === named);
  const linked = ofChannel.filter(({ adapter }) => adapter.login !== undefined);
  if (ofChannel.length > 0 && linked.length === 0 && named !== undefined)
    throw refused(`web login is not supported by provider ${named}`);
  const wanted = accountId.trim();
  const found =
    wanted === ""
      ? (linked.find(({ account }) => account === DEFAULT_ACCOUNT) ?? linked[0])
      : linked.find(({ account }) => account === wanted);
  if (found) return found;
  throw refused("web login provider is not available: no account of a channel that is linked by a code is set up");
}

interface Change {
  readonly view: LoginView;
  readonly qr?: string;
}

/** Waits until the login has another code than the client, or has ended, or the time is over. */
async function changeOf(
  loginId: string,
  current: string,
  ms: number,
  { logins, clock }: WebLoginPorts,
): Promise<Change> {
  const until = clock.now() + ms;
  for (let next = 0; ;) {
    const view = await logins.wait(loginId, next, Math.max(0, until - clock.now()));
    const change = await withQr(view, await logins.wait(loginId, 0, 0));
    const isNew = change.qr !== undefined && change.qr !== current;
    if (isNew || change.view.state !== "waiting" || clock.now() >= until) return change;
    next = change.view.next;
  }
}

/** The state of a login, with the newest of all its codes. */
async function withQr(view: LoginView, all: LoginView): Promise<Change> {
  const text = all.steps.findLast(({ kind }) => kind === "qr");
  if (text?.kind !== "qr") return { view: all };
  const [{ qrRows }, { qrPng }] = await Promise.all([
    import("../../../utils/text/qr.ts"),
    import("../../../utils/png.ts"),
  ]);
  const png = Buffer.from(qrPng(qrRows(text.text)));
  return { view: { ...all, next: view.next }, qr: `data:image/png;base64,${png.toString("base64")}` };
}

function answerOf(loginId: string, { adapter }: ConfiguredAccount, { view, qr }: Change) {
  const { state, self, error, fix, steps } = view;
  if (state === "linked") return { connected: true, message: `Linked as ${self?.name || self?.id || "the account"}.` };
  if (state === "failed") return { connected: false, message: [error, fix].filter(Boolean).join(" ") };
  const told = steps.findLast(({ kind }) => kind === "text");
  const message = qr === undefined ? "The code is being made." : `Scan this code with ${adapter.label} on the phone.`;
  return {
    message: told?.kind === "text" && qr === undefined ? told.text : message,
    ...(qr !== undefined && { qrDataUrl: qr }),
    connected: false,
    sessionKey: loginId,
  };
}
