import type { Answers } from "openclaw/plugin-sdk/answers";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hideSteps, isHidden } from "../../model/address.ts";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import { UNKEPT } from "../common/fields.tsx";
import { Icon } from "../common/icons.tsx";
import { ImportOffer } from "./import-offer.tsx";
import { t } from "../../words/words.ts";

interface StepsProps {
  readonly state: PageState;
  readonly chat: Chat;
}

/** The steps from a new gateway to one that answers its owner: model, channel, owner. Nothing once they are done or hidden. */
export function FirstSteps({ state, chat }: StepsProps): VNode | null {
  const channels = useChannels({ state, chat });
  const [hidden, hide] = useState(isHidden);
  const { demo } = state.status.model;
  const isOwned = (state.people.owners ?? []).length > 0;
  if (!chat.mayChangeModel || channels === undefined) return null;
  if (!demo && (hidden || (channels.length > 0 && isOwned))) return null;
  return (
    <section class="first-steps" aria-label={t("First steps")}>
      {demo && <ImportOffer state={state} chat={chat} />}
      <ol>
        <ModelStep state={state} chat={chat} />
        <ChannelStep channels={channels} chat={chat} />
        <OwnerStep isOwned={isOwned} hasChannel={channels.length > 0} chat={chat} />
      </ol>
      {!demo && (
        <button type="button" class="link" onClick={() => (hideSteps() || chat.showNotice(UNKEPT), hide(true))}>
          {t("Hide these steps")}
        </button>
      )}
    </section>
  );
}

function ChannelStep({ channels, chat }: { readonly channels: readonly string[]; readonly chat: Chat }): VNode {
  const isDone = channels.length > 0;
  const done = t("{channels} is set up.|{channels} are set up.", { channels: channels.join(", "), n: channels.length });
  return (
    <Step title={t("Connect a chat app")} isDone={isDone}>
      <p>{isDone ? done : t("Write to the agent from Telegram, WhatsApp, Slack and others, or stay on this page.")}</p>
      <StepButton label={isDone ? t("Channels") : t("Add a channel")} go={() => chat.visit("channels")} />
    </Step>
  );
}

interface OwnerStepProps {
  readonly isOwned: boolean;
  readonly hasChannel: boolean;
  readonly chat: Chat;
}

function OwnerStep({ isOwned, hasChannel, chat }: OwnerStepProps): VNode {
  return (
    <Step title={t("Say who you are there")} isDone={isOwned}>
      <p>
        {isOwned
          ? t("The channels know an owner.")
          : t("In a chat app everybody is a guest at first, you too. An owner may approve commands.")}
      </p>
      {(hasChannel || isOwned) && (
        <StepButton label={isOwned ? t("People") : t("Name the owner")} go={() => chat.visit("people")} />
      )}
    </Step>
  );
}

function ModelStep({ state, chat }: StepsProps): VNode {
  const { demo, id, provider } = state.status.model;
  // Before the gateway has told which model answers.
  if (id === "") return <Step title={t("Connect a model")} isDone={false} />;
  return (
    <Step title={t("Connect a model")} isDone={!demo}>
      <p>
        {demo
          ? t("The demo model is answering: it repeats what you write, and it calls real tools for a few phrases.")
          : t("{provider}/{id} is answering.", { provider, id })}
      </p>
      {demo ? (
        <StepButton label={t("Choose a model")} opensDialog isFirst go={() => chat.show("model")} />
      ) : (
        <button type="button" class="quiet" onClick={() => chat.visit("models")}>
          {t("Models and keys")}
        </button>
      )}
    </Step>
  );
}

function Step(props: { title: string; isDone: boolean; children?: ComponentChildren }): VNode {
  const { title, isDone, children } = props;
  return (
    <li class={isDone ? "first-step done" : "first-step"}>
      <h3>
        {title}
        {isDone && <Icon name="check" />}
        {isDone && <span class="unseen">{t(": done")}</span>}
      </h3>
      <div>{children}</div>
    </li>
  );
}

function StepButton(props: { label: string; isFirst?: boolean; opensDialog?: boolean; go: () => void }): VNode {
  const { label, isFirst = false, opensDialog = false, go } = props;
  return (
    <button
      type="button"
      class={isFirst ? "primary" : "quiet"}
      aria-haspopup={opensDialog ? "dialog" : undefined}
      onClick={go}
    >
      {label}
    </button>
  );
}

/** The labels of the channels that are set up; undefined until they are known. Read again when the config changed. */
function useChannels({ state, chat }: StepsProps): readonly string[] | undefined {
  const [channels, setChannels] = useState<readonly string[]>();
  useEffect(() => {
    let isOver = false;
    chat.ask("channels.status", {}).then(
      (status) => isOver || setChannels(labelsOf(status)),
      () => isOver || setChannels([]),
    );
    return () => void (isOver = true);
  }, [chat, state.status, state.shown.panel]);
  return channels;
}

const labelsOf = ({ channelAccounts = {}, channelLabels = {} }: Answers["channels.status"]): readonly string[] =>
  Object.entries(channelAccounts)
    .filter(([channel, rows]) => channel !== "webchat" && rows.some(({ enabled }) => enabled !== false))
    .map(([channel]) => channelLabels[channel] ?? channel);
