import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { count, sessionTitle } from "../model/format.ts";
import { agentTitle, openRow } from "../model/state.ts";
import type { State } from "../model/state.ts";
import { Offer } from "./gate.tsx";
import { Icon } from "./common/icons.tsx";
import { SessionSettings } from "./settings/settings.tsx";
import { LinkBanner, LinkState } from "./link.tsx";

/** The session's name and tokens, and the state of the connection. */
export function Header(props: { state: State; chat: Chat; narrow: boolean; menu: () => void }): VNode {
  const { state, chat, narrow, menu } = props;
  const row = openRow(state);
  const title = sessionTitle(state.sessionKey, row?.label);
  const agent = agentTitle(state, state.sessionKey);
  const { model } = state.status;
  const demo = model.demo && (row?.provider === undefined || row.provider === model.provider);
  return (
    <header class="header">
      {narrow && (
        <button type="button" class="plain-icon" aria-label="Sessions" aria-haspopup="dialog" onClick={menu}>
          <Icon name="menu" />
        </button>
      )}
      <h1>{title}</h1>
      {agent !== undefined && <span class="tag">{agent}</span>}
      {demo && <span class="tag">demo model</span>}
      <Tokens state={state} />
      <LinkState link={state.link} />
      {state.hello?.methods.includes("sessions.describe") === true && <SettingsButton state={state} chat={chat} />}
    </header>
  );
}

function SettingsButton(props: { state: State; chat: Chat }): VNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="plain-icon"
        aria-label="Session settings"
        title="Session settings"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <Icon name="sliders" />
      </button>
      {open && <SessionSettings {...props} close={() => setOpen(false)} />}
    </>
  );
}

function Tokens(props: { state: State }): VNode | null {
  const tokens = openRow(props.state)?.tokens;
  if (tokens === undefined || tokens.input + tokens.output + tokens.total === 0) return null;
  const share = tokens.window > 0 ? Math.min(100, Math.round((tokens.total / tokens.window) * 100)) : undefined;
  const detail = `Tokens of this session: ${tokens.input} in, ${tokens.output} out`;
  const context = share === undefined ? "" : `; ${tokens.total} of ${tokens.window} in the model's window`;
  return (
    <p class="tokens" title={detail + context}>
      <span class="tokens-both">
        {count(tokens.input)} in · {count(tokens.output)} out
      </span>
      {share !== undefined && <span class="tokens-share">{share}% of context</span>}
    </p>
  );
}

/** Banners about problems: no connection, an invalid config, a failure. */
export function Banners(props: { state: State; chat: Chat }): VNode {
  const { state, chat } = props;
  return (
    <div class="banners column">
      <LinkBanner link={state.link} chat={chat} />
      {state.offered !== undefined && <Offer chat={chat} />}
      {state.status.problems.map((problem) => (
        <div class="banner warning" role="status" key={problem.message}>
          <Icon name="warning" />
          <p>
            {problem.message} {problem.fix !== undefined && <code>{problem.fix}</code>}
          </p>
        </div>
      ))}
      {state.turnedAway > 0 && (
        <div class="banner warning" role="status">
          <Icon name="warning" />
          <p>
            {turnedAwayText(state.turnedAway)} <code>openclaw pairing list</code>
          </p>
        </div>
      )}
      {state.notice !== undefined && (
        <div class="banner warning" role="alert">
          <p>{state.notice}</p>
          <button type="button" class="plain-icon" aria-label="Dismiss" onClick={() => chat.showNotice()}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  );
}

const turnedAwayText = (count: number): string =>
  `${count === 1 ? "One person wrote and has" : `${count} people wrote and have`} no pairing code, because too many others are waiting.`;
