import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Setup } from "../../channels/channel-setup.ts";
import { readChannels, type Ask, type ReportedAccount } from "../../channels/channels.ts";
import type { Chat } from "../../model/chat.ts";
import type { Hello } from "../../model/protocol.ts";
import { AccountCard } from "./channel-account.tsx";
import { ChannelSetupForm } from "./channel-setup.tsx";
import { Icon } from "../common/icons.tsx";

const REFRESH_MS = 3000;
/** When to refresh after a change: the gateway reloads its config shortly after it, and then connects. */
const REFRESH_AFTER_CHANGE_MS: readonly number[] = [0, 400, 900, 1600];

interface ChannelsProps {
  readonly chat: Chat;
  readonly hello: Hello | undefined;
  readonly close: () => void;
}

/** The accounts of chat platforms, with their status and actions. */
export function ChannelsDialog(props: ChannelsProps): VNode {
  const { chat, hello, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [status, setStatus] = useState("");
  const ask: Ask = useCallback((method, params) => chat.ask(method, params), [chat]);
  const hasSetups = hello?.methods.includes("channels.setups") === true;
  const { accounts, setups, problem, refresh } = useChannels(ask, hasSetups);
  const changed = useCallback((message = ""): void => (setStatus(message), refresh()), [refresh]);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="channels"
      aria-labelledby="channels-title"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="channels-inside">
        <header>
          <h2 id="channels-title">Channels</h2>
          <button type="button" class="plain-icon" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {problem !== undefined && <p role="alert">{problem}</p>}
        <ul>
          {accounts?.map((account) => (
            <AccountCard
              key={`${account.channel} ${account.account}`}
              account={account}
              ask={ask}
              setup={setups.find(({ channel }) => channel === account.channel)}
              most={hello?.limits.payload ?? 0}
              changed={changed}
            />
          ))}
        </ul>
        <p role="status" class="channels-status">
          {status}
        </p>
        {setups.length > 0 && <Adding setups={setups} ask={ask} changed={changed} />}
      </div>
    </dialog>
  );
}

function Adding(props: { setups: readonly Setup[]; ask: Ask; changed: (message?: string) => void }): VNode {
  const { setups, ask, changed } = props;
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="new-chat" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="plus" />
        Add a channel
      </button>
      {open && <ChannelSetupForm setups={setups} ask={ask} done={(message) => (setOpen(false), changed(message))} />}
    </>
  );
}

function useChannels(ask: Ask, hasSetups: boolean) {
  const [accounts, setAccounts] = useState<readonly ReportedAccount[]>();
  const [setups, setSetups] = useState<readonly Setup[]>([]);
  const [problem, setProblem] = useState<string>();
  const pending = useRef<readonly number[]>([]);
  const lacksSetups = hasSetups && setups.length === 0;
  const read = useCallback(async (): Promise<void> => {
    try {
      setAccounts(await readChannels(ask));
      if (lacksSetups) setSetups((await ask("channels.setups", {})).channels);
      setProblem(undefined);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "The channels cannot be read.");
    }
  }, [ask, lacksSetups]);
  const refresh = useCallback((): void => {
    pending.current.forEach(clearTimeout);
    pending.current = REFRESH_AFTER_CHANGE_MS.map((wait) => setTimeout(() => void read(), wait));
  }, [read]);
  useEffect(() => {
    void read();
    const timer = setInterval(() => void read(), REFRESH_MS);
    return () => (clearInterval(timer), pending.current.forEach(clearTimeout));
  }, [read]);
  return { accounts, setups, problem, refresh };
}
