import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import type { State } from "../model/state.ts";
import { Icon } from "./common/icons.tsx";

/** The button for a new chat, and the choice of its agent where there are several. */
export function NewChat(props: { state: State; chat: Chat; done: () => void }): VNode {
  const { state, chat, done } = props;
  const { agents } = state.catalog;
  const [chosen, setChosen] = useState<string>();
  const agent = agents.find(({ id }) => id === chosen) ?? agents[0];
  return (
    <div class="new-chat-row">
      <button type="button" class="new-chat" onClick={() => (chat.startNew(agent?.id), done())}>
        <Icon name="plus" />
        New chat
      </button>
      {agents.length > 1 && (
        <select
          class="choice"
          aria-label="Agent of new chats"
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
