import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import { dayText, dollars, factLine, sessionTitle, shortCount } from "../../model/format.ts";
import { SECTIONS } from "../../settings/settings.ts";
import { openRow, type PageState } from "../../model/state.ts";
import { Icon } from "../common/icons.tsx";
import { SessionRights } from "./rights.tsx";
import { SettingRow } from "./setting-row.tsx";
import { useSettings, type EditedSettings } from "./use-settings.ts";
import { readDays, type UsedDay } from "../../settings/used.ts";
import { t } from "../../words/words.ts";

/** The settings of the open session, beside the conversation. */
export function SessionSettings(props: { state: PageState; chat: Chat; close: () => void }): VNode {
  const { state, chat, close } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const edited = useSettings(state, chat);
  useEffect(() => dialog.current?.showModal(), []);
  // The browser then gives the focus back.
  const dismiss = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="settings"
      aria-labelledby="settings-title"
      onClose={close}
      onClick={(event) => event.target === dialog.current && dismiss()}
    >
      <div class="settings-inside">
        <header>
          <h2 id="settings-title">{t("Session settings")}</h2>
          <button type="button" class="plain-icon" aria-label={t("Close")} onClick={dismiss}>
            <Icon name="close" />
          </button>
        </header>
        <p class="settings-of">{sessionTitle(state.sessionKey, openRow(state)?.label)}</p>
        {edited.problem !== undefined && (
          <p class="field-problem" role="alert">
            {edited.problem}
          </p>
        )}
        <Sections {...edited} />
        {edited.rights && <SessionRights rights={edited.rights} />}
        {chat.mayChangeModel && (
          <p class="channel-actions">
            <button type="button" class="quiet" onClick={() => (dismiss(), chat.show("model"))}>
              {t("Model and key of the gateway")}
            </button>
          </p>
        )}
        {state.hello?.methods.includes("usage.cost") === true && <Used sessionKey={state.sessionKey} chat={chat} />}
      </div>
    </dialog>
  );
}

/** The sections with the settings that this session has. */
function Sections({ settings, pending, refusals, change }: EditedSettings): VNode[] {
  return SECTIONS.flatMap(({ title, rows }) => {
    const shown = rows.flatMap((text) => {
      const setting = settings?.[text.name];
      return setting === undefined ? [] : [{ text, setting }];
    });
    if (shown.length === 0) return [];
    return [
      <section key={title} aria-label={title}>
        <h3>{title}</h3>
        {shown.map(({ text, setting }) => (
          <SettingRow
            key={text.name}
            text={text}
            setting={setting}
            pending={pending[text.name]}
            refusal={refusals[text.name]}
            change={(value) => change(text.name, value)}
          />
        ))}
      </section>,
    ];
  });
}

interface Read {
  readonly session: readonly UsedDay[];
  readonly all: readonly UsedDay[];
}

/** Use by the session and in total on each of the last seven days. Nothing when it cannot be read. */
function Used({ sessionKey, chat }: { readonly sessionKey: string; readonly chat: Chat }): VNode | null {
  const [read, setRead] = useState<Read>();
  useEffect(() => {
    let isOver = false;
    const asked = { range: "7d" };
    Promise.all([
      chat.ask("sessions.usage", { ...asked, key: sessionKey, groupBy: "family" }),
      chat.ask("usage.cost", asked),
    ]).then(
      ([session, all]) =>
        !isOver && setRead({ session: readDays(session.aggregates.costDaily), all: readDays(all.daily) }),
      () => undefined,
    );
    return () => void (isOver = true);
  }, [chat, sessionKey]);
  if (read === undefined || read.all.length === 0) return null;
  return (
    <section aria-label={t("Usage")}>
      <h3>{t("Usage")}</h3>
      <dl class="rights">
        {read.all.map((day) => (
          <div key={day.day}>
            <dt>{dayText(day.day)}</dt>
            <dd>
              {amount(day)} <span class="right-source">{ofSession(day, read.session)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const amount = ({ tokens, cost }: UsedDay): string =>
  factLine([t("{tokens} tokens", { tokens: shortCount(tokens) }), dollars(cost)]);

function ofSession({ day }: UsedDay, session: readonly UsedDay[]): string {
  const own = session.find((other) => other.day === day);
  return own === undefined ? t("none of it in this session") : t("in this session: {amount}", { amount: amount(own) });
}
