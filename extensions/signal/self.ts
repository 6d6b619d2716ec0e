import { z } from "zod";
import type { SignalConfig } from "./config.ts";
import { badConfig, METHOD_NOT_FOUND, Trouble, unknownAccount } from "./failures.ts";
import type { Person } from "./people.ts";
import type { Account } from "./account.ts";
import type { Daemon } from "./rpc.ts";

const accountList = z.array(z.looseObject({ number: z.string().nullish(), aci: z.string().nullish() }));
const userStatus = z.array(z.looseObject({ uuid: z.string().nullish() }));

const STATUS_MS = 15_000;
const NOTE = "accountUuid";

/**
 * Asks signal-cli which account is ours. Throws `OpenClawError` when it has no matching account or several, `Trouble` when it does not
 * answer.
 */
export async function findSelf(daemon: Daemon, config: SignalConfig, signal: AbortSignal): Promise<Person> {
  const answer = await daemon.call("listAccounts", {}, { signal });
  if (answer.kind === "lost") throw new Trouble(answer.outcome.reason, { fix: answer.fix });
  if (answer.kind === "error") {
    if (answer.error.code === METHOD_NOT_FOUND) return onlyAccount(config);
    throw new Trouble(`signal-cli: ${answer.error.message}`);
  }
  const { success, data: accounts } = accountList.safeParse(answer.result);
  if (!success) {
    const fix = "Set channels.signal.httpUrl to where signal-cli daemon --http listens.";
    throw new Trouble("the server is not signal-cli: it returns no list of accounts", { fix });
  }
  return choose(accounts.map(toPerson), config);
}

const toPerson = ({
  number,
  aci,
}: {
  number?: string | null | undefined;
  aci?: string | null | undefined;
}): Person => ({
  number: number ?? undefined,
  uuid: aci ?? undefined,
});

/** The configured account: a daemon that was started for one account does not list it. */
function onlyAccount({ account, accountUuid }: SignalConfig): Person {
  if (account === undefined) {
    throw badConfig("channels.signal has no account.", "Set channels.signal.account to its phone number.");
  }
  return account.startsWith("+") ? { number: account, uuid: accountUuid } : { uuid: account };
}

function choose(accounts: readonly Person[], { account, accountUuid }: SignalConfig): Person {
  const mine = accounts.filter(({ number, uuid }) => account === undefined || account === number || account === uuid);
  const [self, second] = mine;
  if (!self) {
    throw unknownAccount(
      account === undefined ? "signal-cli has no account." : "signal-cli does not know this account.",
    );
  }
  if (second) {
    throw badConfig("signal-cli has several accounts.", "Set channels.signal.account to the number of the one to use.");
  }
  return { ...self, uuid: accountUuid ?? self.uuid };
}

/** Adds the account's id in Signal, which mentions in groups use, if it can be found. Never rejects. */
export async function withUuid(
  self: Person,
  { daemon, host, signal }: Pick<Account, "daemon" | "host" | "signal">,
): Promise<Person> {
  if (self.uuid !== undefined || self.number === undefined) return self;
  const known = await host.notes.get(NOTE);
  if (known?.startsWith(`${self.number} `)) return { ...self, uuid: known.slice(self.number.length + 1) };
  const answer = await daemon.call("getUserStatus", { recipient: [self.number] }, { timeoutMs: STATUS_MS, signal });
  const uuid = answer.kind === "done" ? userStatus.safeParse(answer.result).data?.[0]?.uuid : undefined;
  if (!uuid && !signal.aborted) {
    host.log.warn("the account's id is unknown: only mentions of its number are recognised", {
      fix: "Set channels.signal.accountUuid.",
    });
  }
  if (!uuid) return self;
  await host.notes.set(NOTE, `${self.number} ${uuid}`);
  return { ...self, uuid };
}
