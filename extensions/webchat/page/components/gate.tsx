import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { sentence } from "../model/format.ts";
import { Logo } from "./common/icons.tsx";
import { rich } from "../words/rich.ts";
import { t } from "../words/words.ts";

/** Asks for the token when none is known or the known one was refused. */
export function TokenForm(props: { message: string; offered: boolean; chat: Chat }): VNode {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (token !== "") props.chat.connect(token);
  };
  return (
    <main class="gate">
      <form onSubmit={submit}>
        <Logo />
        <h1>{t("Sign in to the gateway")}</h1>
        <p>
          {rich(
            "On the machine that runs it, {code} prints a link that signs you in. You can also paste the token here.",
            { code: <code>openclaw dashboard</code> },
          )}
        </p>
        {props.message !== "" && (
          <p class="outcome error" role="alert">
            {sentence(props.message)}
          </p>
        )}
        {props.offered && <LinkTokenQuestion chat={props.chat} />}
        <label>
          {t("Token")}
          <input ref={field} type="password" autocomplete="off" spellcheck={false} required />
        </label>
        <button type="submit" class="primary">
          {t("Sign in")}
        </button>
      </form>
    </main>
  );
}

/** Asks before a link's token is used, because anybody can make such a link. */
export function LinkTokenQuestion(props: { chat: Chat }): VNode {
  const { chat } = props;
  return (
    <div class="banner">
      <p>
        {t(
          "The link that was opened contains a token for this gateway. Use it only if the link is yours or from openclaw dashboard.",
        )}
      </p>
      <button type="button" class="quiet" onClick={() => chat.answerOffer(true)}>
        {t("Sign in with the link's token")}
      </button>
      <button type="button" class="quiet" onClick={() => chat.answerOffer(false)}>
        {t("Ignore it")}
      </button>
    </div>
  );
}
