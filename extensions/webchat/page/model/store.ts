import type { PagePlace } from "./address.ts";
import { initialState, reduce } from "./state.ts";
import type { Action, PageState } from "./state.ts";

/** The state of the page, with the listeners that are called after each change. */
export interface Store {
  readonly state: () => PageState;
  readonly dispatch: (action: Action) => void;
  readonly subscribe: (changed: () => void) => void;
}

/** Creates the store for the place that the page opens. */
export function createStore({ sessionKey, view, key }: PagePlace): Store {
  let state: PageState = { ...initialState(sessionKey), shown: { view, key } };
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
