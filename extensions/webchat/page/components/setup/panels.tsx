import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import { t } from "../../words/words.ts";

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
      chat.showNotice(t("This part of the page could not be loaded. Reload the page."));
    });
  }, [isWanted, loaded, chat]);
  return isWanted && loaded ? <loaded.OpenPanel state={state} chat={chat} /> : null;
}
