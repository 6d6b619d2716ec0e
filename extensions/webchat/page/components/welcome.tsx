import type { VNode } from "preact";
import type { Chat } from "../model/chat.ts";
import type { State } from "../model/state.ts";
import { Logo } from "./common/icons.tsx";

const IDEAS = ["list the files", "read README.md", "run date"];

/** The content of an empty conversation. */
export function Welcome(props: { state: State; chat: Chat }): VNode {
  const { demo } = props.state.status.model;
  return (
    <section class="welcome" aria-label="Welcome">
      <Logo />
      <h2>What can I do for you?</h2>
      <p>
        {demo
          ? "The demo model is answering: it repeats what you write, and it calls real tools for a few phrases. Set an API key to use a real model."
          : "Ask anything. The agent works in its own workspace, and asks you before it runs a command."}
      </p>
      <div class="ideas">
        {IDEAS.map((idea) => (
          <button key={idea} type="button" class="quiet" onClick={() => props.chat.send(idea, [])}>
            {idea}
          </button>
        ))}
      </div>
    </section>
  );
}
