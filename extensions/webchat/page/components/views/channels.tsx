import type { VNode } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Setup } from "../../channels/channel-setup.ts";
import { reportedAccounts, type Ask, type ReportedAccount } from "../../channels/channels.ts";
import { heardGroups } from "../../channels/groups.ts";
import { AccountCard } from "../channels/channel-account.tsx";
import { Groups } from "../channels/channel-groups.tsx";
import { ChannelSetupForm } from "../channels/channel-setup.tsx";
import { Icon } from "../common/icons.tsx";
import { ActButton, useAnswer, ViewFrame, type ViewProps } from "./view-parts.tsx";
import { t } from "../../words/words.ts";

const CHANGED = { changedBy: ["health", "config.changed"] };

/** The accounts of chat platforms, with their state and everything that is done with them. */
export function ChannelsView(view: ViewProps): VNode {
  const { state, chat } = view;
  const [said, setSaid] = useState("");
  const ask: Ask = useCallback((method, params) => chat.ask(method, params), [chat]);
  const status = useAnswer(view, { method: "channels.status", ...CHANGED });
  const capabilities = useAnswer(view, { method: "channels.capabilities", ...CHANGED });
  const known = useAnswer(view, { method: "channels.setups" });
  const config = useAnswer(view, { method: "config.get", changedBy: ["config.changed"] });
  const setups = known.answer?.channels ?? NO_SETUPS;
  const accounts = useMemo(
    () => status.answer && capabilities.answer && reportedAccounts(status.answer, capabilities.answer),
    [status.answer, capabilities.answer],
  );
  const changed = useCallback(
    (message = ""): void => (setSaid(message), status.again(), capabilities.again()),
    [status.again, capabilities.again],
  );
  const isUnowned = state.people.owners?.length === 0;
  return (
    <ViewFrame problems={[status.problem, capabilities.problem, known.problem]} isRead={accounts !== undefined}>
      <ul>
        {accounts?.map((account) => (
          <AccountCard
            key={`${account.channel} ${account.account}`}
            account={account}
            ask={ask}
            setup={setups.find(({ channel }) => channel === account.channel)}
            most={state.hello?.limits.payload ?? 0}
            changed={changed}
          >
            {account.configured && (
              <AccountGroups view={view} account={account} config={config.answer?.config} changed={changed} />
            )}
          </AccountCard>
        ))}
      </ul>
      <p role="status" class="channels-status">
        {said}
      </p>
      {isUnowned && accounts?.some(({ connected }) => connected) === true && (
        <p class="panel-text">
          {t("Nobody is an owner in these channels yet.")}{" "}
          <ActButton label={t("Next: name the owner")} act={() => chat.visit("people")} />
        </p>
      )}
      {setups.length > 0 && <Adding setups={setups} ask={ask} changed={changed} />}
    </ViewFrame>
  );
}

const NO_SETUPS: readonly Setup[] = [];

interface GroupsOfProps {
  readonly view: ViewProps;
  readonly account: ReportedAccount;
  readonly config: unknown;
  readonly changed: (message?: string) => void;
}

/** The groups of an account, where this client may write the config. */
function AccountGroups({ view, account, config, changed }: GroupsOfProps): VNode | null {
  const { state, chat } = view;
  if (config === undefined || state.hello?.methods.includes("config.patch") !== true) return null;
  const write = async (wanted: unknown, done: string): Promise<string> => {
    try {
      await chat.ask("config.patch", { patch: wanted });
      return done;
    } catch (error) {
      return error instanceof Error ? error.message : t("The request failed.");
    }
  };
  const patch = (wanted: unknown, done: string): void => void write(wanted, done).then(changed);
  const groups = heardGroups(config, account.channel, account.account);
  return <Groups groups={groups} label={`${account.label} ${account.account}`} patch={patch} />;
}

function Adding(props: { setups: readonly Setup[]; ask: Ask; changed: (message?: string) => void }): VNode {
  const { setups, ask, changed } = props;
  const [chosen, setChosen] = useState<string>();
  const setup = setups.find(({ channel }) => channel === chosen);
  const done = (message?: string): void => (setChosen(undefined), changed(message));
  return (
    <section aria-label={t("Add a channel")}>
      <h2>{t("Add a channel")}</h2>
      <div class="picks">
        {setups.map(({ channel, label }) => (
          <button
            key={channel}
            type="button"
            class="new-chat"
            aria-expanded={channel === chosen}
            onClick={() => setChosen(channel === chosen ? undefined : channel)}
          >
            <Icon name="plus" />
            {label}
          </button>
        ))}
      </div>
      {setup && <ChannelSetupForm key={setup.channel} setup={setup} ask={ask} done={done} />}
    </section>
  );
}
