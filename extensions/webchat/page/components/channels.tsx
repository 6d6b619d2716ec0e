import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { readChannels, sendTest, type Ask, type ChannelAccount } from "../channels.ts";
import type { Chat } from "../chat.ts";
import { ago } from "../format.ts";
import { ChannelLogin } from "./channel-login.tsx";
import { useNow } from "./hooks.ts";
import { Icon } from "./icons.tsx";

const REFRESH_MS = 3000;

/** The accounts of chat platforms: how they are, a test message, linking and forgetting. */
export function Channels(props: { chat: Chat; close: () => void }): VNode {
  const { chat, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const ask: Ask = useCallback((method, params) => chat.ask(method, params), [chat]);
  const { accounts, problem, refresh } = useChannels(ask);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="channels"
      aria-labelledby="channels-title"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <header>
        <h2 id="channels-title">Channels</h2>
        <button type="button" class="plain-icon" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {accounts?.length === 0 && (
        <p>
          None is set up. Add one with <code>openclaw channels add</code>.
        </p>
      )}
      <ul>
        {accounts?.map((account) => (
          <Account key={`${account.channel} ${account.account}`} account={account} ask={ask} changed={refresh} />
        ))}
      </ul>
    </dialog>
  );
}

function useChannels(ask: Ask) {
  const [accounts, setAccounts] = useState<readonly ChannelAccount[]>();
  const [problem, setProblem] = useState<string>();
  const refresh = useCallback((): void => {
    readChannels(ask).then(
      (rows) => (setAccounts(rows), setProblem(undefined)),
      (error: unknown) => setProblem(error instanceof Error ? error.message : "They cannot be read."),
    );
  }, [ask]);
  useEffect(() => {
    refresh();
    const timer = setInterval(refresh, REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return { accounts, problem, refresh };
}

interface AccountProps {
  readonly account: ChannelAccount;
  readonly ask: Ask;
  readonly changed: () => void;
}

function Account(props: AccountProps): VNode {
  const { account, ask, changed } = props;
  const [open, setOpen] = useState<"nothing" | "test" | "login" | "forget">("nothing");
  const shut = (): void => (setOpen("nothing"), changed());
  const forget = (): void => {
    const { channel, account: accountId } = account;
    ask("channels.logout", { channel, accountId }).then(shut, shut);
  };
  return (
    <li class="channel" aria-label={`${account.label} ${account.account}`}>
      <p>
        <strong>{account.label}</strong> {account.account} {account.name !== "" && <span>as {account.name}</span>}
      </p>
      <Facts account={account} />
      <p class="channel-actions">
        <button type="button" class="quiet" disabled={!account.connected} onClick={() => setOpen("test")}>
          Test
        </button>
        {account.login && (
          <>
            <button type="button" class="quiet" onClick={() => setOpen("login")}>
              Link
            </button>
            <button type="button" class="quiet danger" onClick={() => setOpen("forget")}>
              Forget
            </button>
          </>
        )}
      </p>
      {open === "forget" && (
        <p class="channel-actions" role="group" aria-label={`Forget ${account.label}?`}>
          Forget this link?
          <button type="button" class="quiet danger" onClick={forget}>
            Yes, forget it
          </button>
          <button type="button" class="quiet" onClick={shut}>
            Keep
          </button>
        </p>
      )}
      {open === "test" && <TestForm account={account} ask={ask} done={shut} />}
      {open === "login" && <ChannelLogin account={account} ask={ask} done={shut} />}
    </li>
  );
}

function Facts(props: { account: ChannelAccount }): VNode {
  const { state, connected, silentMs, retryAt, error } = props.account;
  const now = useNow(1000, retryAt !== undefined);
  const facts = [
    connected ? "connected" : state,
    ...(silentMs === undefined ? [] : [`last sign ${ago(now - silentMs, now)}`]),
    ...(retryAt === undefined ? [] : [`again in ${Math.max(0, Math.ceil((retryAt - now) / 1000))} s`]),
  ];
  return (
    <p class={connected ? "channel-facts" : "channel-facts busy"}>
      {facts.join(" · ")}
      {!connected && error !== "" && <span class="channel-error">{error}</span>}
    </p>
  );
}

function TestForm(props: { account: ChannelAccount; ask: Ask; done: () => void }): VNode {
  const { account, ask, done } = props;
  const field = useRef<HTMLInputElement>(null);
  const [told, setTold] = useState("");
  useEffect(() => field.current?.focus(), []);
  const send = (): void => {
    const to = field.current?.value.trim() ?? "";
    if (to === "") return;
    setTold("Sending …");
    sendTest(ask, account, to).then(setTold, (error: unknown) =>
      setTold(error instanceof Error ? error.message : "It failed."),
    );
  };
  return (
    <form class="channel-test" onSubmit={(event) => (event.preventDefault(), send())}>
      <input ref={field} aria-label="Chat that gets the test message" placeholder="id of a person or group" />
      <button type="submit" class="primary">
        Send
      </button>
      <button type="button" class="quiet" onClick={done}>
        Close
      </button>
      <span role="status">{told}</span>
    </form>
  );
}
