import type { VNode } from "preact";
import type { Chat } from "../../model/chat.ts";
import type { PageState } from "../../model/state.ts";
import { useLoaded } from "../common/hooks.ts";

interface PanelsProps {
  readonly state: PageState;
  readonly chat: Chat;
}

/** The open dialog about the whole gateway. The code of these dialogs is loaded with the first one. */
export function Panels({ state, chat }: PanelsProps): VNode | null {
  const isWanted = state.shown.panel !== undefined;
  const loaded = useLoaded(
    isWanted,
    () => import("./model-panel.tsx"),
    () => chat.show(),
  );
  return isWanted && loaded ? <loaded.OpenPanel state={state} chat={chat} /> : null;
}
