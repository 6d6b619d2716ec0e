import { z } from "zod";
import { checkAccount } from "../../../channels/checks.ts";
import type { ConfiguredAccount } from "../../../channels/ports.ts";
import { systemClock } from "../../../types/clock.ts";
import type { LoginStep } from "../../../types/chat/channel.ts";
import { channelAnswers, type LoginView } from "../../../types/answers/channels.ts";
import { defineMethod, type Method } from "../../../types/method.ts";
import { accountFolder } from "../../accounts/accounts.ts";
import { libraryStore, libraryUrl } from "../../compose/libraries.ts";
import { capabilitiesOf } from "../../accounts/channel-capabilities.ts";
import { accountsIn, findAccount } from "../../accounts/channel-accounts.ts";
import { channelEditMethods } from "./channel-edit-methods.ts";
import { Logins } from "../logins/logins.ts";
import { webLoginMethods } from "../logins/web-login-methods.ts";
import type { Parts } from "../parts/parts.ts";

const name = z.string().min(1);
const oneAccount = z.looseObject({ channel: name, accountId: name.optional() });
const oneLogin = z.looseObject({ loginId: name });

const PROBE_MS = 10_000;
const WAIT_MS = 25_000;

/** The protocol's methods that show channels and set up, link and unlink accounts. */
export function channelMethods(parts: Parts): readonly Method[] {
  return [
    defineMethod({
      name: "channels.capabilities",
      scope: "operator.read",
      params: z.looseObject({ channel: name.optional() }),
      result: channelAnswers.capabilities,
      run: async ({ channel }) => ({
        channels: await capabilitiesOf(parts.live, channel, (of, account) => parts.channels.linkOf(of, account)),
      }),
    }),
    defineMethod({
      name: "channels.probe",
      mayWait: true,
      scope: "operator.read",
      params: z.looseObject({
        channel: name.optional(),
        timeoutMs: z.int().min(1).max(60_000).default(PROBE_MS),
      }),
      result: channelAnswers.probe,
      run: async ({ channel, timeoutMs }) => ({ accounts: await probe(parts, channel, timeoutMs) }),
    }),
    defineMethod({
      name: "channels.logout",
      scope: "operator.admin",
      params: oneAccount,
      result: channelAnswers.logout,
      run: async ({ channel, accountId }) => logout(parts, await accountOf(parts, channel, accountId)),
    }),
    ...channelEditMethods(parts),
    ...loginMethods(parts),
  ];
}

function loginMethods(parts: Parts): readonly Method[] {
  const { channels, log } = parts;
  const logins = new Logins({
    clock: systemClock,
    log,
    folder: (account) => folderOf(parts, account),
    library: (wish) => libraryUrl(libraryStore(parts.live.paths, log), wish),
    pause: (account) => channels.pause(account),
  });
  parts.stopping.addEventListener("abort", () => logins.close(), { once: true });
  return [
    ...webLoginMethods({
      logins,
      clock: systemClock,
      accounts: () => accountsIn(parts.live),
      isConnected: ({ adapter, account }) =>
        channels.status().some((row) => row.channel === adapter.id && row.accountId === account && row.connected),
      logout: async (account) => void (await logout(parts, account)),
    }),
    defineMethod({
      name: "channels.login.start",
      mayWait: true,
      scope: "operator.admin",
      params: oneAccount.extend({
        phone: z
          .string()
          .regex(/^\+\d{6,15}$/, "a phone number as +49301234567")
          .optional(),
      }),
      result: channelAnswers.login,
      run: async ({ channel, accountId, phone }) =>
        drawn(logins.start(await accountOf(parts, channel, accountId), phone)),
    }),
    defineMethod({
      name: "channels.login.wait",
      mayWait: true,
      scope: "operator.admin",
      params: oneLogin.extend({
        next: z.int().min(0).default(0),
        timeoutMs: z.int().min(0).max(WAIT_MS).default(WAIT_MS),
      }),
      result: channelAnswers.login,
      run: async ({ loginId, next, timeoutMs }) => drawn(await logins.wait(loginId, next, timeoutMs)),
    }),
    defineMethod({
      name: "channels.login.cancel",
      scope: "operator.admin",
      params: oneLogin,
      result: channelAnswers.cancelled,
      run: async ({ loginId }) => {
        logins.cancel(loginId);
        return { ok: true };
      },
    }),
  ];
}

const accountOf = (parts: Parts, channel: string, account: string | undefined): Promise<ConfiguredAccount> =>
  findAccount(parts.live, channel, account);

const folderOf = ({ live }: Parts, { adapter, account }: ConfiguredAccount): Promise<string> =>
  accountFolder(live.paths.credentials, adapter.id, account);

const drawn = async (view: LoginView) => ({ ...view, steps: await Promise.all(view.steps.map(withRows)) });

async function withRows(step: LoginStep) {
  if (step.kind !== "qr") return step;
  const { qrRows } = await import("../../../utils/text/qr.ts");
  return { ...step, rows: qrRows(step.text) };
}

async function probe(parts: Parts, channel: string | undefined, timeoutMs: number) {
  const all = await accountsIn(parts.live);
  const wanted = all.filter(({ adapter }) => channel === undefined || adapter.id === channel);
  return Promise.all(
    wanted.map(async (one) => ({
      channel: one.adapter.id,
      accountId: one.account,
      ...(await checkAccount(one, AbortSignal.timeout(timeoutMs))),
    })),
  );
}

async function logout(parts: Parts, account: ConfiguredAccount) {
  const { adapter, config } = account;
  const facts = { channel: adapter.id, accountId: account.account };
  if (!adapter.logout) return { ...facts, cleared: false, loggedOut: false, ...adapter.unlinking?.(config) };
  // The account starts again, to report that it has to be linked.
  const resume = await parts.channels.pause(account);
  const desk = {
    account: account.account,
    signal: parts.stopping,
    log: parts.log,
    folder: () => folderOf(parts, account),
    library: (name: string) =>
      libraryUrl(libraryStore(parts.live.paths, parts.log), { channel: adapter.id, name, signal: parts.stopping }),
    show: () => undefined,
  };
  try {
    await adapter.logout(config, desk);
  } finally {
    await resume();
  }
  return { ...facts, cleared: true, loggedOut: true };
}
