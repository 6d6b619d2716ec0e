import { initialState, reduce } from "./state.ts";
import type { Action, State } from "./state.ts";

/** The page's one state, and who wants to know of its changes. */
export interface Store {
  readonly state: () => State;
  readonly dispatch: (action: Action) => void;
  readonly subscribe: (changed: () => void) => void;
}

/** Makes the store for the session that the page opens with. */
export function createStore(sessionKey: string): Store {
  let state = initialState(sessionKey);
  const subscribers: (() => void)[] = [];
  return {
    state: () => state,
    dispatch: (action) => {
      const next = reduce(state, action);
      if (next === state) return;
      state = next;
      for (const changed of subscribers) changed();
    },
    subscribe: (changed) => subscribers.push(changed),
  };
}
