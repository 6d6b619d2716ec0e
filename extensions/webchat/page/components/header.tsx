import type { VNode } from "preact";
import { type Lack, loadAgain } from "../browser/parts.ts";
import type { Chat } from "../model/chat.ts";
import { sentence, shortCount, sessionTitle } from "../model/format.ts";
import { agentTitle, openRow, type PageState, type Link } from "../model/state.ts";
import { LinkTokenQuestion } from "./gate.tsx";
import { Icon } from "./common/icons.tsx";
import { PaletteButton } from "./palette/opener.tsx";
import { SessionSettings } from "./settings/settings.tsx";
import { useNow } from "./common/hooks.ts";
import { viewTitle } from "./views.tsx";
import { t } from "../words/words.ts";

interface HeaderProps {
  readonly state: PageState;
  readonly chat: Chat;
  readonly narrow: boolean;
  readonly menu: () => void;
  readonly palette: () => void;
}

/** The name of the session or the view, the session's tokens, and the state of the connection. */
export function PageHeader({ state, chat, narrow, menu, palette }: HeaderProps): VNode {
  const { view } = state.shown;
  return (
    <header class="header">
      {narrow && (
        <button type="button" class="plain-icon" aria-label={t("Sessions")} aria-haspopup="dialog" onClick={menu}>
          <Icon name="menu" />
        </button>
      )}
      {view === undefined ? <SessionFacts state={state} /> : <h1 tabIndex={-1}>{viewTitle(view)}</h1>}
      <LinkState link={state.link} />
      <PaletteButton open={palette} />
      {view === undefined && (
        <button
          type="button"
          class="plain-icon"
          aria-label={t("Search in this conversation")}
          title={t("Search in this conversation (Ctrl+Shift+F)")}
          aria-expanded={state.shown.find === true}
          onClick={() => chat.find(state.shown.find !== true)}
        >
          <Icon name="search" />
        </button>
      )}
      {view === undefined && state.hello?.methods.includes("sessions.describe") === true && (
        <SettingsButton state={state} chat={chat} />
      )}
    </header>
  );
}

function SessionFacts({ state }: { readonly state: PageState }): VNode {
  const row = openRow(state);
  const agent = agentTitle(state, state.sessionKey);
  const { model } = state.status;
  const demo = model.demo && (row?.provider === undefined || row.provider === model.provider);
  return (
    <>
      <h1 tabIndex={-1} dir="auto">
        {sessionTitle(state.sessionKey, row?.label)}
      </h1>
      {agent !== undefined && <span class="tag">{agent}</span>}
      {demo && <span class="tag">{t("demo model")}</span>}
      <Tokens state={state} />
    </>
  );
}

function SettingsButton(props: { state: PageState; chat: Chat }): VNode {
  const { chat } = props;
  return (
    <>
      <button
        type="button"
        class="plain-icon"
        aria-label={t("Session settings")}
        title={t("Session settings")}
        aria-haspopup="dialog"
        onClick={() => chat.settings(true)}
      >
        <Icon name="sliders" />
      </button>
      {props.state.shown.settings === true && <SessionSettings {...props} close={() => chat.settings(false)} />}
    </>
  );
}

function Tokens(props: { state: PageState }): VNode | null {
  const tokens = openRow(props.state)?.tokens;
  if (tokens === undefined || tokens.input + tokens.output + tokens.total === 0) return null;
  const share = tokens.window > 0 ? Math.min(100, Math.round((tokens.total / tokens.window) * 100)) : undefined;
  const detail = t("Tokens of this session: {input} in, {output} out", { input: tokens.input, output: tokens.output });
  const context =
    share === undefined
      ? ""
      : t("; {total} of {window} in the model's window", { total: tokens.total, window: tokens.window });
  return (
    <p class="tokens" title={detail + context}>
      <span class="tokens-both">
        {t("{input} in · {output} out", { input: shortCount(tokens.input), output: shortCount(tokens.output) })}
      </span>
      {share !== undefined && <span class="tokens-share">{t("{share}% of context", { share })}</span>}
    </p>
  );
}

/** Banners about problems: no connection, an invalid config, a failure. */
export function Banners(props: { state: PageState; chat: Chat }): VNode {
  const { state, chat } = props;
  return (
    <div class="banners column">
      <LinkBanner link={state.link} chat={chat} />
      {state.shown.lack !== undefined && (
        <LackBanner lack={state.shown.lack} isConnected={state.link.state === "connected"} />
      )}
      {state.offered !== undefined && <LinkTokenQuestion chat={chat} />}
      {state.status.problems.map((problem) => (
        <div class="banner warning" role="status" key={problem.message}>
          <Icon name="warning" />
          <p>
            {problemText(problem.message, chat)} {problem.fix !== undefined && <code>{problem.fix}</code>}
          </p>
          {OF_A_KEY.test(problem.message) && chat.mayChangeModel && (
            <button type="button" class="quiet" aria-haspopup="dialog" onClick={() => chat.show("model")}>
              {t("Change the key")}
            </button>
          )}
        </div>
      ))}
      {state.people.turnedAway > 0 && (
        <div class="banner warning" role="status">
          <Icon name="warning" />
          <p>
            {turnedAwayText(state.people.turnedAway)} <code>openclaw pairing list</code>
          </p>
        </div>
      )}
      {state.shown.archived !== undefined && (
        <div class="banner" role="status">
          <p>{t("“{title}” is in the archive.", { title: state.shown.archived.title })}</p>
          <button type="button" class="quiet" onClick={() => chat.forgetArchived(true)}>
            {t("Bring back")}
          </button>
          <DismissButton act={() => chat.forgetArchived(false)} />
        </div>
      )}
      {state.shown.notice !== undefined && (
        <div class="banner warning" role="alert">
          <p>{sentence(state.shown.notice)}</p>
          <DismissButton act={() => chat.showNotice()} />
        </div>
      )}
    </div>
  );
}

const LACKS: Readonly<Record<Lack, string>> = {
  newer: t(
    "The gateway has a new version of this page. Save what you are changing, then reload the page; what you have typed in the chat stays.",
  ),
  texts: t("The texts of this language could not be loaded, so that the page is in English. Reload the page."),
  part: t("A part of the page could not be loaded."),
};

/** What the page lacks, and what helps. A reload needs the gateway, and gets all of the page. */
function LackBanner({ lack, isConnected }: { readonly lack: Lack; readonly isConnected: boolean }): VNode {
  const waits = lack === "part" && !isConnected;
  return (
    <div class="banner warning" role="alert">
      <p>
        {LACKS[lack]} {waits && t("It is loaded when the gateway is back.")}
      </p>
      {lack === "part" && isConnected && (
        <button type="button" class="quiet" onClick={loadAgain}>
          {t("Try again")}
        </button>
      )}
      {isConnected && (
        <button type="button" class="quiet" onClick={() => location.reload()}>
          {t("Reload the page")}
        </button>
      )}
    </div>
  );
}

function DismissButton({ act }: { readonly act: () => void }): VNode {
  return (
    <button type="button" class="plain-icon" aria-label={t("Dismiss")} onClick={act}>
      <Icon name="close" />
    </button>
  );
}

/** A problem of a model's key, with the command that tests the key. */
const OF_A_KEY = /; see openclaw models status --probe\.?$/;

const problemText = (message: string, chat: Chat): string =>
  sentence(chat.mayChangeModel ? message.replace(OF_A_KEY, "") : message);

const turnedAwayText = (count: number): string =>
  t(
    "{n} person wrote and has no pairing code, because too many others are waiting.|{n} people wrote and have no pairing code, because too many others are waiting.",
    { n: count },
  );

const LABELS: Readonly<Record<Link["state"], string>> = {
  connecting: t("Connecting"),
  connected: t("Connected"),
  waiting: t("Reconnecting"),
  offline: t("Offline"),
  unauthorized: t("Not signed in"),
  refused: t("Refused"),
};

/** The state of the connection. Screen readers do not read the seconds. */
function LinkState(props: { link: Link }): VNode {
  const { link } = props;
  const now = useNow(500, link.state === "waiting");
  const seconds = link.state === "waiting" ? Math.max(0, Math.ceil((link.retryAt - now) / 1000)) : 0;
  return (
    <div class={`link-state ${link.state}`}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{LABELS[link.state]}</span>
      {link.state === "waiting" && <span aria-hidden="true">{seconds > 0 ? t(" in {n} s", { n: seconds }) : "…"}</span>}
    </div>
  );
}

/** Why there is no connection, and a button to reconnect now. */
function LinkBanner(props: { link: Link; chat: Chat }): VNode | null {
  const { link, chat } = props;
  if (link.state !== "waiting" && link.state !== "refused" && link.state !== "offline") return null;
  const reason = link.state === "waiting" ? link.reason : undefined;
  const message = link.state === "refused" ? link.message : (reason ?? t("This device is offline."));
  return (
    <div class="banner">
      <p>
        {sentence(message)} {t("Messages that you send wait here until the connection is back.")}
      </p>
      <button type="button" class="quiet" onClick={() => chat.retryNow()}>
        {t("Try now")}
      </button>
    </div>
  );
}
