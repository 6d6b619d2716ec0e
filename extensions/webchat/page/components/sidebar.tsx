import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { ago, channelName, factLine, plainKey, sessionTitle } from "../model/format.ts";
import type { SessionRow } from "../model/protocol.ts";
import { agentTitle, isOpen, openRow, type PageState } from "../model/state.ts";
import { UNKEPT } from "./common/fields.tsx";
import { useNow } from "./common/hooks.ts";
import { Icon, Logo } from "./common/icons.tsx";
import { ViewLinks } from "./views.tsx";
import { changeColours } from "../browser/theme.ts";
import { chosenLanguage, keepLanguage, LANGUAGES, t } from "../words/words.ts";

interface SidebarProps {
  readonly state: PageState;
  readonly chat: Chat;
  /** Called after a choice, so that a drawer can close. */
  readonly done: () => void;
}

/** The session list as a drawer, for a narrow window. */
export function Drawer(props: SidebarProps & { open: boolean }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (props.open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [props.open]);
  return (
    <dialog
      ref={dialog}
      class="drawer"
      aria-label={t("Sessions")}
      onClose={props.done}
      onClick={(event) => event.target === dialog.current && props.done()}
    >
      <Sidebar {...props} />
    </dialog>
  );
}

/** The logo, the button for a new chat, the sessions, and the ways to the views. */
export function Sidebar(props: SidebarProps): VNode {
  const { state, chat, done } = props;
  const now = useNow(60_000);
  const rows = listedSessions(state);
  return (
    <nav class="sidebar" aria-label={t("Sessions")}>
      <div class="brand">
        <Logo />
        <span>openclaw</span>
      </div>
      <NewChat state={state} chat={chat} done={done} />
      <ul class="sessions">
        {rows.map((row) => (
          <SessionItem key={row.key} row={row} state={state} chat={chat} done={done} now={now} />
        ))}
        {state.catalog.hasOlderSessions && (
          <li class="session more">
            <button type="button" class="link" onClick={() => chat.loadOlderSessions()}>
              {t("Show older chats")}
            </button>
          </li>
        )}
      </ul>
      <ViewLinks state={state} chat={chat} done={done} />
      <OwnChoices version={state.hello?.version} />
    </nav>
  );
}

/** The choices that this browser keeps, beside the version of the gateway. */
function OwnChoices({ version }: { readonly version: string | undefined }): VNode {
  const [note, setNote] = useState("");
  return (
    <>
      <p class="version">
        {version !== undefined && t("gateway {version}", { version })}
        <button
          type="button"
          class="plain-icon"
          aria-label={t("Change between light and dark colours")}
          title={t("Change between light and dark colours")}
          onClick={() => setNote(changeColours() ? "" : UNKEPT)}
        >
          <Icon name="contrast" />
        </button>
        <LanguageChoice refused={() => setNote(NO_LANGUAGE)} />
      </p>
      <p class="version" role="status">
        {note}
      </p>
    </>
  );
}

const NO_LANGUAGE = t(
  "This browser keeps nothing for this page, so that no other language can be chosen here. Allow the page to keep data (cookies) in the settings of the browser.",
);

/** The language of the page: that of the browser, unless the person chooses one. `refused`: the browser does not keep the choice. */
function LanguageChoice({ refused }: { readonly refused: () => void }): VNode {
  const [before] = useState(() => chosenLanguage() ?? "");
  return (
    <select
      class="choice"
      aria-label={t("Language")}
      value={before}
      onChange={({ currentTarget }) => {
        if (keepLanguage(currentTarget.value)) return location.reload();
        currentTarget.value = before;
        refused();
      }}
    >
      <option value="">{t("Language of the browser")}</option>
      {LANGUAGES.map(([code, name]) => (
        <option key={code} value={code} lang={code}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The sessions, pinned ones first, then the latest first. The main and the open session are included even if they have no row yet. */
function listedSessions(state: PageState): readonly SessionRow[] {
  const agent = state.hello?.defaultAgent;
  const has = (key: string): boolean => state.sessions.some((row) => plainKey(row.key, agent) === plainKey(key, agent));
  const rows = state.sessions.toSorted(
    (one, other) => (other.pinnedAt ?? 0) - (one.pinnedAt ?? 0) || (other.updatedAt ?? 0) - (one.updatedAt ?? 0),
  );
  const open = openRow(state) === undefined ? [emptyRow(state.sessionKey)] : [];
  const main = has("main") || isOpen(state, "main") ? [] : [emptyRow("main")];
  return [...open, ...rows, ...main];
}

function emptyRow(key: string): SessionRow {
  return { key, tokens: { input: 0, output: 0, total: 0, window: 0 }, activeRuns: [], active: false };
}

function SessionItem(props: SidebarProps & { row: SessionRow; now: number }): VNode {
  const { row, state, chat, done, now } = props;
  const [asking, setAsking] = useState<"nothing" | "name" | "delete">("nothing");
  const close = (): void => setAsking("nothing");
  if (asking === "name") return <RenameForm row={row} chat={chat} close={close} />;
  if (asking === "delete") return <DeleteQuestion row={row} chat={chat} close={close} />;
  const open = state.shown.view === undefined && isOpen(state, row.key);
  const title = sessionTitle(row.key, row.label);
  const channel = channelName(row.key);
  const when = row.updatedAt === undefined ? "" : ago(row.updatedAt, now);
  const isPinned = row.pinnedAt !== undefined;
  const actions = [
    ["pin", isPinned ? t("Unpin {title}", { title }) : t("Pin {title}", { title }), () => chat.pin(row.key, !isPinned)],
    ["archive", t("Archive {title}", { title }), () => chat.archive(row.key, title)],
    ["pencil", t("Rename {title}", { title }), () => setAsking("name")],
    ["trash", t("Delete {title}", { title }), () => setAsking("delete")],
  ] as const;
  return (
    <li class={open ? "session open" : "session"}>
      <button type="button" aria-current={open ? "page" : undefined} onClick={() => (chat.open(row.key), done())}>
        <span class="session-title" dir="auto">
          {row.pinnedAt !== undefined && <Icon name="pin" />}
          {title}
        </span>
        <span class="session-facts">
          {row.active && <span class="busy">{t("working")}</span>}
          {factLine([agentTitle(state, row.key), channel, when])}
        </span>
      </button>
      {row.updatedAt !== undefined && (
        <span class="session-actions">
          {actions.map(([icon, label, act]) => (
            <button key={icon} type="button" class="plain-icon" aria-label={label} title={label} onClick={act}>
              <Icon name={icon} />
            </button>
          ))}
        </span>
      )}
    </li>
  );
}

interface AskProps {
  readonly row: SessionRow;
  readonly chat: Chat;
  readonly close: () => void;
}

function RenameForm(props: AskProps): VNode {
  const { row, chat, close } = props;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const title = sessionTitle(row.key, row.label);
  const save = (): void => {
    const name = field.current?.value.trim() ?? "";
    if (name !== title) chat.rename(row.key, name);
    close();
  };
  return (
    <li class="session asking">
      <form onSubmit={(event) => (event.preventDefault(), save())}>
        <input
          ref={field}
          aria-label={t("Name of the session")}
          defaultValue={title}
          onKeyDown={(event) => event.key === "Escape" && (event.stopPropagation(), event.preventDefault(), close())}
        />
        <button type="submit" class="primary">
          {t("Save")}
        </button>
      </form>
    </li>
  );
}

function DeleteQuestion(props: AskProps): VNode {
  const { row, chat, close } = props;
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <li
      class="session asking"
      role="group"
      aria-label={t("Delete {title}?", { title: sessionTitle(row.key, row.label) })}
    >
      <span>{t("Delete “{title}”?", { title: sessionTitle(row.key, row.label) })}</span>
      <button type="button" class="quiet danger" onClick={() => (chat.remove(row.key), close())}>
        {t("Delete")}
      </button>
      <button type="button" class="quiet" ref={keep} onClick={close}>
        {t("Keep")}
      </button>
    </li>
  );
}

/** The button for a new chat, and the choice of its agent where there are several. */
function NewChat(props: { state: PageState; chat: Chat; done: () => void }): VNode {
  const { state, chat, done } = props;
  const { agents } = state.catalog;
  const [chosen, setChosen] = useState<string>();
  const agent = agents.find(({ id }) => id === chosen) ?? agents[0];
  return (
    <div class="new-chat-row">
      <button type="button" class="new-chat" onClick={() => (chat.startNew(agent?.id), done())}>
        <Icon name="plus" />
        {t("New chat")}
      </button>
      {agents.length > 1 && (
        <select
          class="choice"
          aria-label={t("Agent of new chats")}
          value={agent?.id}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {agents.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}
