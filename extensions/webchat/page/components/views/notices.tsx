import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { refusalBehind } from "../../model/connection.ts";
import { type PushState, pushState, turnOff, turnOn } from "../../model/push.ts";
import { t } from "../../words/words.ts";
import { ActButton, ListRow, mayAsk, Pick, RowList, useActing, type ViewActs, type ViewProps } from "./view-parts.tsx";

type Preferences = Answers["push.web.preferences.get"];
type Kind = keyof Preferences["effective"]["categories"];

/** The kinds that this gateway sends, in the words of the person. */
const KINDS: readonly (readonly [Kind, string])[] = [
  ["approvalRequested", t("A decision waits: a command, a stranger, a device")],
  ["agentQuestion", t("The agent has a question")],
  ["scheduledTaskFailed", t("A job has failed")],
];

const DETAILS = [
  ["private", t("without details")],
  ["identified", t("with the agent's name")],
  ["detailed", t("with what it is about")],
] as const;

/** Notifications on this device while the page is closed: on, off, and what for. */
export function DeviceNotices(props: ViewProps): VNode | null {
  const { chat, state } = props;
  const [now, setNow] = useState<PushState>();
  const [preferences, setPreferences] = useState<Preferences>();
  const isOffered = mayAsk(props, "push.web.subscribe");
  const isConnected = state.link.state === "connected";
  const look = useCallback(async () => {
    if (!isOffered || !isConnected) return;
    const found = await find(chat);
    setPreferences(found.preferences);
    setNow(found.now);
  }, [isOffered, isConnected, chat]);
  useEffect(() => void look(), [look]);
  const acts = useActing(NOTHING);
  // A second change is made to what the first one has left.
  const acting = { ...acts, act: (work: () => Promise<unknown>) => acts.act(() => lookAfter(work, look)) };
  if (!isOffered || now === undefined) return null;
  const isOn = now.kind === "on" && preferences !== undefined;
  return (
    <RowList title={t("On this device")}>
      {[
        <ListRow
          key="notices"
          title={t("Notifications while the page is closed")}
          facts={[stateText(now, isOn)]}
          error={acting.problem}
          actions={now.kind !== "impossible" && <Acts {...{ chat, acting, isOn, endpoint: endpointOf(now) }} />}
        >
          {isOn && <Choices {...{ chat, acting, preferences, endpoint: now.endpoint }} />}
        </ListRow>,
      ]}
    </RowList>
  );
}

const NOTHING = (): void => undefined;

async function lookAfter(work: () => Promise<unknown>, look: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await look();
  }
}

function stateText(now: PushState, isOn: boolean): string {
  if (now.kind === "impossible") return now.why;
  return isOn ? t("on") : t("off");
}

const endpointOf = (now: PushState): string => (now.kind === "on" ? now.endpoint : "");

interface Found {
  readonly now: PushState;
  /** Unset when the gateway does not know the browser's subscription. */
  readonly preferences?: Preferences;
}

/** What the browser and the gateway say. Never rejects. */
async function find(chat: ViewProps["chat"]): Promise<Found> {
  try {
    const now = await pushState(chat);
    if (now.kind !== "on") return { now };
    return { now, preferences: await chat.ask("push.web.preferences.get", { endpoint: now.endpoint }) };
  } catch (error) {
    // The gateway forgets subscriptions, such as after its token was changed.
    if (refusalBehind(error)?.code === "FORBIDDEN") return { now: { kind: "off" } };
    return { now: { kind: "impossible", why: error instanceof Error ? error.message : String(error) } };
  }
}

interface ActsProps {
  readonly chat: ViewProps["chat"];
  readonly acting: ViewActs;
  readonly isOn: boolean;
  readonly endpoint: string;
}

function Acts({ chat, acting: { act, isBusy }, isOn, endpoint }: ActsProps): VNode {
  if (!isOn)
    return <ActButton label={t("Turn on")} kind="primary" isDisabled={isBusy} act={() => act(() => turnOn(chat))} />;
  return (
    <>
      <ActButton label={t("Send a test")} isDisabled={isBusy} act={() => act(() => chat.ask("push.web.test", {}))} />
      <ActButton label={t("Turn off")} isDisabled={isBusy} act={() => act(() => turnOff(chat, endpoint))} />
    </>
  );
}

interface ChoicesProps extends Omit<ActsProps, "isOn"> {
  readonly preferences: Preferences;
}

function Choices({ chat, acting, preferences: { device, effective }, endpoint }: ChoicesProps): VNode {
  const prefer = (change: Partial<Preferences["device"]>): void =>
    acting.act(() =>
      chat.ask("push.web.preferences.set", { endpoint, scope: "device", preferences: { ...device, ...change } }),
    );
  return (
    <fieldset class="notice-kinds">
      <legend>{t("Tell me when")}</legend>
      {KINDS.map(([kind, label]) => (
        <label key={kind}>
          <input
            type="checkbox"
            checked={effective.categories[kind]}
            disabled={acting.isBusy}
            onChange={({ currentTarget }) =>
              prefer({ categories: { ...device.categories, [kind]: currentTarget.checked } })
            }
          />
          {label}
        </label>
      ))}
      <Pick
        label={t("What a notification shows")}
        value={effective.detailLevel}
        options={DETAILS}
        choose={(detailLevel) => prefer({ detailLevel })}
      />
    </fieldset>
  );
}
