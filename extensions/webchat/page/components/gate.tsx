import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { sentence } from "../model/format.ts";
import { Logo } from "./common/icons.tsx";

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
        <h1>Sign in to the gateway</h1>
        <p>
          On the machine that runs it, <code>openclaw dashboard</code> prints a link that signs you in. You can also
          paste the token here.
        </p>
        {props.message !== "" && (
          <p class="outcome error" role="alert">
            {sentence(props.message)}
          </p>
        )}
        {props.offered && <LinkTokenQuestion chat={props.chat} />}
        <label>
          Token
          <input ref={field} type="password" autocomplete="off" spellcheck={false} required />
        </label>
        <button type="submit" class="primary">
          Sign in
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
        The link that was opened contains a token for this gateway. Use it only if the link is yours or from openclaw
        dashboard.
      </p>
      <button type="button" class="quiet" onClick={() => chat.answerOffer(true)}>
        Sign in with the link's token
      </button>
      <button type="button" class="quiet" onClick={() => chat.answerOffer(false)}>
        Ignore it
      </button>
    </div>
  );
}
