import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import { sessionTitle } from "../../model/format.ts";
import { nonEmpty } from "../../model/json.ts";
import { type Approval, type Decision, type Pairing, principalText } from "../../model/protocol.ts";
import { isOpen, rowOf } from "../../model/state.ts";
import type { PageState } from "../../model/state.ts";
import { useNow } from "./hooks.ts";
import { Icon } from "./icons.tsx";
import { lookAlikeWords } from "../../policy/look-alikes.ts";
import { rich } from "../../words/rich.ts";
import { t } from "../../words/words.ts";

/** The approvals and pairings that wait for an answer, above the composer. */
export function Questions(props: { state: PageState; chat: Chat }): VNode | null {
  const { state, chat } = props;
  if (state.approvals.length + state.people.pairings.length === 0) return null;
  return (
    <section class="questions column" aria-label={t("Waiting for you")}>
      {state.approvals.map((approval) => {
        const sessionKey = nonEmpty(approval.request.sessionKey);
        const isElsewhere = sessionKey !== undefined && !isOpen(state, sessionKey);
        const from = isElsewhere ? sessionTitle(sessionKey, rowOf(state, sessionKey)?.label) : undefined;
        return <ApprovalCard key={approval.id} approval={approval} from={from} chat={chat} />;
      })}
      {state.people.pairings.map((pairing) => (
        <PairingCard
          key={`${pairing.channel}:${pairing.code}`}
          pairing={pairing}
          chat={chat}
          lacksOwner={state.people.owners?.length === 0 && state.hello?.methods.includes("owners.add") === true}
        />
      ))}
    </section>
  );
}

/** The answers that an approval of an older gateway offers. */
const ALL: readonly Decision[] = ["allow-once", "allow-always", "deny"];

function ApprovalCard(props: { approval: Approval; from: string | undefined; chat: Chat }): VNode {
  const { approval, from, chat } = props;
  const { command, principal, files = [], variables = [], allowedDecisions = ALL } = approval.request;
  const [cwd, reason] = [nonEmpty(approval.request.cwd), nonEmpty(approval.request.reason)];
  const marked = useMemo(
    () => lookAlikeWords([command, cwd ?? "", ...files.map(({ path }) => path)].join("\n")),
    [approval],
  );
  const card = useRef<HTMLDivElement>(null);
  // The focus moves before the card is painted: a later move would take it from a button that somebody has reached
  // already.
  useLayoutEffect(() => focusUnlessWriting(card.current), []);
  return (
    <div class="question" ref={card} tabIndex={-1} role="group" aria-labelledby={`ask-${approval.id}`}>
      <h2 id={`ask-${approval.id}`}>
        <Icon name="shield" />
        <span role="alert">
          {t("Run this command?")}
          {from !== undefined && <span class="from"> {t("Asked in {conversation}", { conversation: from })}</span>}
        </span>
      </h2>
      <pre tabIndex={0}>{command}</pre>
      {marked !== undefined && <p class="look-alikes">{marked}</p>}
      <p class="facts">
        {cwd !== undefined && <span>{t("in {cwd}", { cwd })}</span>}
        {reason !== undefined && <span>{reason}</span>}
        {principal !== undefined && (
          <span>
            {principal.kind === "owner"
              ? rich("for the owner {person}", { person: <bdi>{principalText(principal)}</bdi> })
              : rich("for someone who is not an owner: {person}", { person: <bdi>{principalText(principal)}</bdi> })}
          </span>
        )}
        {files.length > 0 && (
          <span>
            {t("only while these files are unchanged: {files}", { files: files.map(({ path }) => path).join(", ") })}
          </span>
        )}
        {variables.length > 0 && (
          <span>{t("plugins set these variables: {variables}", { variables: variables.join(", ") })}</span>
        )}
        <Expiry at={approval.expiresAtMs} />
      </p>
      <div class="answers">
        {allowedDecisions.includes("allow-once") && (
          <button type="button" class="primary" onClick={() => chat.decide(approval.id, "allow-once")}>
            {t("Allow once")}
          </button>
        )}
        {allowedDecisions.includes("allow-always") && (
          <button type="button" class="quiet" onClick={() => chat.decide(approval.id, "allow-always")}>
            {t("Always allow")}
          </button>
        )}
        <button type="button" class="quiet danger" onClick={() => chat.decide(approval.id, "deny")}>
          {t("Deny")}
        </button>
      </div>
    </div>
  );
}

/** Focuses the card unless a message is being written. No button has the focus, so that Enter cannot allow the command. */
function focusUnlessWriting(card: HTMLElement | null): void {
  const active = document.activeElement;
  const isWriting = active instanceof HTMLTextAreaElement ? active.value !== "" : active instanceof HTMLInputElement;
  if (!isWriting) card?.focus();
}

function Expiry(props: { at: number | undefined }): VNode | null {
  const now = useNow(1000, props.at !== undefined);
  if (props.at === undefined) return null;
  const seconds = Math.max(0, Math.ceil((props.at - now) / 1000));
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return <span aria-hidden="true">{seconds === 0 ? t("expired") : t("{clock} left", { clock })}</span>;
}

function PairingCard(props: { pairing: Pairing; chat: Chat; lacksOwner: boolean }): VNode {
  const { pairing, chat, lacksOwner } = props;
  return (
    <div class="question" role="group" aria-labelledby={`pair-${pairing.code}`}>
      <h2 id={`pair-${pairing.code}`}>
        <Icon name="shield" />
        <span role="status">{rich("{name} wants to talk to the agent", { name: <bdi>{pairing.name}</bdi> })}</span>
      </h2>
      <p class="facts">
        <span>{t("on {channel}, id {senderId}", { channel: pairing.channel, senderId: pairing.senderId })}</span>
        <span>{rich("code {code}", { code: <code>{pairing.code}</code> })}</span>
      </p>
      <div class="answers">
        <button type="button" class="primary" onClick={() => chat.admit(pairing)}>
          {t("Let them in")}
        </button>
        {lacksOwner && (
          <button type="button" class="quiet" onClick={() => chat.admit(pairing, true)}>
            {t("That is me: let in as owner")}
          </button>
        )}
        <button type="button" class="quiet danger" onClick={() => chat.refuse(pairing)}>
          {t("Refuse")}
        </button>
      </div>
    </div>
  );
}
