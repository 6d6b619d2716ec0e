import type { ComponentChildren, VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Setup } from "../../channels/channel-setup.ts";
import { remainingLink, type Ask, type Capability, type ReportedAccount } from "../../channels/channels.ts";
import { ago, lifecycleText, factLine } from "../../model/format.ts";
import { ChannelLogin } from "./channel-login.tsx";
import { SendForm, TestForm } from "./channel-send.tsx";
import { ChannelSetupForm } from "./channel-setup.tsx";
import { useFocus, useNow } from "../common/hooks.ts";
import { t } from "../../words/words.ts";

type Opened = "nothing" | "send" | "test" | "login" | "forget" | "change" | "remove";

interface AccountProps {
  readonly account: ReportedAccount;
  readonly ask: Ask;
  /** Setup of the account; undefined when the gateway does not report it. */
  readonly setup: Setup | undefined;
  /** Maximum bytes of one request. */
  readonly most: number;
  /** Called after an action, with a text for the person. */
  readonly changed: (message?: string) => void;
  /** What else belongs to the account. */
  readonly children?: ComponentChildren;
}

/** An account: its status and its actions. */
export function AccountCard(props: AccountProps): VNode {
  const { account, ask, setup, most, changed, children } = props;
  const [opened, setOpened] = useState<Opened>("nothing");
  const close = (message?: string): void => (setOpened("nothing"), changed(message));
  const tryTo = async (...[method, more, done]: Parameters<Act>): Promise<void> => {
    const { channel, account: accountId } = account;
    try {
      const answer = await ask(method, { channel, accountId, ...more });
      close(("cleared" in answer ? remainingLink(answer) : undefined) ?? done);
    } catch (error) {
      close(error instanceof Error ? error.message : t("The request failed."));
    }
  };
  const act: Act = (...what) => void tryTo(...what);
  return (
    <li class="channel" aria-label={`${account.label} ${account.account}`}>
      <p>
        <strong>{account.label}</strong> {account.account}{" "}
        {account.name !== "" && <span>{t("as {name}", { name: account.name })}</span>}
      </p>
      <Facts account={account} />
      <Actions account={account} setup={setup} opened={opened} open={setOpened} act={act} />
      {opened === "send" && <SendForm account={account} ask={ask} most={most} done={close} />}
      {opened === "test" && <TestForm account={account} ask={ask} done={close} />}
      {opened === "login" && <ChannelLogin account={account} ask={ask} done={close} />}
      {opened === "change" && setup && <ChannelSetupForm account={account} setup={setup} ask={ask} done={close} />}
      {(opened === "forget" || opened === "remove") && (
        <Question what={opened} account={account} act={act} keep={close} />
      )}
      {children}
      {account.capabilities.length > 0 && <Capabilities capabilities={account.capabilities} />}
    </li>
  );
}

type Act = (method: "channels.enable" | "channels.logout" | "channels.remove", more: object, done: string) => void;

const nameOf = ({ label, account }: ReportedAccount): string => `${label} (${account})`;

interface ActionsProps {
  readonly account: ReportedAccount;
  readonly setup: Setup | undefined;
  readonly opened: Opened;
  readonly open: (what: Opened) => void;
  readonly act: Act;
}

function Actions(props: ActionsProps): VNode {
  const { account, setup, opened, open, act } = props;
  const isOff = account.state === "off";
  const button = (what: Opened, label: string, more: { danger?: boolean; disabled?: boolean } = {}): VNode => (
    <button
      type="button"
      class={more.danger === true ? "quiet danger" : "quiet"}
      disabled={more.disabled === true}
      aria-expanded={opened === what}
      onClick={() => open(what)}
    >
      {label}
    </button>
  );
  return (
    <p class="channel-actions">
      {button("send", t("Send a message"), { disabled: isOff })}
      {button("test", t("Test"), { disabled: isOff })}
      {account.login && button("login", t("Link"))}
      {account.login && button("forget", t("Forget"), { danger: true })}
      {account.configured && setup && (
        <>
          {setup.fields.length > 0 && button("change", t("Change"))}
          <button
            type="button"
            class="quiet"
            onClick={() =>
              act(
                "channels.enable",
                { enabled: isOff },
                isOff
                  ? t("{account} is switched on.", { account: nameOf(account) })
                  : t("{account} is switched off.", { account: nameOf(account) }),
              )
            }
          >
            {isOff ? t("Switch on") : t("Switch off")}
          </button>
          {button("remove", t("Remove"), { danger: true })}
        </>
      )}
    </p>
  );
}

function Facts(props: { account: ReportedAccount }): VNode {
  const { state, activity, connected, silentMs, retryAt, error, fix, notices } = props.account;
  const now = useNow(1000, retryAt !== undefined);
  const facts = [
    connected ? t("connected") : lifecycleText(state),
    activity,
    silentMs === undefined ? undefined : t("last activity {ago}", { ago: ago(now - silentMs, now) }),
    retryAt === undefined
      ? undefined
      : t("next attempt in {n} s", { n: Math.max(0, Math.ceil((retryAt - now) / 1000)) }),
  ];
  return (
    <p class={connected ? "channel-facts" : "channel-facts busy"}>
      {factLine(facts)}
      {!connected && error !== "" && <span class="channel-error">{error}</span>}
      {!connected && error !== "" && fix !== "" && <span class="channel-error">{fix}</span>}
      {notices.map((notice) => (
        <span key={notice} class="channel-error">
          {notice}
        </span>
      ))}
    </p>
  );
}

interface QuestionProps {
  readonly what: "forget" | "remove";
  readonly account: ReportedAccount;
  readonly act: Act;
  readonly keep: () => void;
}

/** Asks for confirmation before an action that is hard to undo. The answer that changes nothing has the focus. */
function Question(props: QuestionProps): VNode {
  const { what, account, act, keep } = props;
  const harmless = useRef<HTMLButtonElement>(null);
  useFocus(harmless);
  const isForget = what === "forget";
  const remove = account.login
    ? t("Remove it from the config? The device remains linked until you choose Forget.")
    : t("Remove it from the config?");
  const yes = (): void =>
    isForget
      ? act("channels.logout", {}, t("{account} is forgotten.", { account: nameOf(account) }))
      : act("channels.remove", {}, t("{account} is removed.", { account: nameOf(account) }));
  return (
    <div
      class="channel-actions"
      role="group"
      aria-label={
        isForget ? t("Forget {label}?", { label: account.label }) : t("Remove {label}?", { label: account.label })
      }
    >
      {isForget ? t("Forget this link?") : remove}
      <button type="button" class="quiet danger" onClick={yes}>
        {isForget ? t("Yes, forget it") : t("Yes, remove it")}
      </button>
      <button type="button" class="quiet" ref={harmless} onClick={() => keep()}>
        {t("Keep")}
      </button>
    </div>
  );
}

function Capabilities(props: { capabilities: readonly Capability[] }): VNode {
  return (
    <details class="channel-capabilities">
      <summary>{t("What it can do")}</summary>
      <dl>
        {props.capabilities.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
