import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import { Icon } from "../common/icons.tsx";

interface PanelsProps {
  readonly state: PageState;
  readonly chat: Chat;
}

/** The open dialog about the whole gateway. The code of these dialogs is loaded with the first one. */
export function Panels({ state, chat }: PanelsProps): VNode | null {
  const [loaded, setLoaded] = useState<{ readonly OpenPanel: (props: PanelsProps) => VNode | null }>();
  const isWanted = state.shown.panel !== undefined;
  useEffect(() => {
    if (!isWanted || loaded) return;
    import("./model-panel.tsx").then(setLoaded, () => {
      chat.show();
      chat.showNotice("This part of the page could not be loaded. Reload the page.");
    });
  }, [isWanted, loaded, chat]);
  return isWanted && loaded ? <loaded.OpenPanel state={state} chat={chat} /> : null;
}

const BUTTONS = [
  ["channels", "Channels", "plug", "channels.capabilities"],
  ["people", "People", "people", "owners.list"],
] as const;

/** The buttons that open the dialogs which this client may use. `done` is called after a press. */
export function PanelButtons(props: { state: PageState; chat: Chat; done: () => void }): VNode {
  const { state, chat, done } = props;
  return (
    <div class="panel-buttons">
      {BUTTONS.filter(([, , , method]) => state.hello?.methods.includes(method) === true).map(
        ([panel, label, icon]) => (
          <button key={panel} type="button" aria-haspopup="dialog" onClick={() => (done(), chat.show(panel))}>
            <Icon name={icon} />
            {label}
          </button>
        ),
      )}
    </div>
  );
}
