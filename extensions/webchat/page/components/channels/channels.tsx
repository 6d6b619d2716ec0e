import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Setup } from "../../channels/channel-setup.ts";
import { readChannels, type Ask, type ReportedAccount } from "../../channels/channels.ts";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import { AccountCard } from "./channel-account.tsx";
import { ChannelSetupForm } from "./channel-setup.tsx";
import { Icon } from "../common/icons.tsx";
import { PanelDialog } from "../common/panel.tsx";

const REFRESH_MS = 3000;
/** When to refresh after a change: the gateway reloads its config shortly after it, and then connects. */
const REFRESH_AFTER_CHANGE_MS: readonly number[] = [0, 400, 900, 1600];

interface ChannelsProps {
  readonly state: PageState;
  readonly chat: Chat;
  readonly close: () => void;
}

/** The accounts of chat platforms, with their status and actions. */
export function ChannelsDialog(props: ChannelsProps): VNode {
  const {
    state: {
      hello,
      people: { owners },
    },
    chat,
    close,
  } = props;
  const [status, setStatus] = useState("");
  const ask: Ask = useCallback((method, params) => chat.ask(method, params), [chat]);
  const hasSetups = hello?.methods.includes("channels.setups") === true;
  const { accounts, setups, problem, refresh } = useChannels(ask, hasSetups);
  const changed = useCallback((message = ""): void => (setStatus(message), refresh()), [refresh]);
  return (
    <PanelDialog title="Channels" name="channels" close={close}>
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
      {owners?.length === 0 && accounts?.some(({ connected }) => connected) === true && (
        <p class="panel-text">
          Nobody is an owner in these channels yet.{" "}
          <button type="button" class="quiet" onClick={() => chat.show("people")}>
            Next: name the owner
          </button>
        </p>
      )}
      {setups.length > 0 && <Adding setups={setups} ask={ask} changed={changed} />}
    </PanelDialog>
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
