import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { addressOf } from "../../model/address.ts";
import { needsOf, type PageState, type PageView, VIEWS } from "../../model/state.ts";
import { Icon, type IconName } from "../common/icons.tsx";
import type { ViewProps } from "./view-parts.tsx";

type Content = (props: ViewProps) => VNode;

interface ViewFacts {
  readonly title: string;
  readonly icon: IconName;
  /** Without these methods of the gateway the view is not offered. */
  readonly methods: readonly string[];
  readonly load: () => Promise<Content>;
}

/** The views beside the chat. The code of each is loaded when it is opened. */
const FACTS: Readonly<Record<PageView, ViewFacts>> = {
  needs: {
    title: "Needs you",
    icon: "bell",
    methods: ["status"],
    load: async () => (await import("./needs.tsx")).NeedsView,
  },
  conversations: {
    title: "All chats",
    icon: "search",
    methods: ["sessions.list", "sessions.search"],
    load: async () => (await import("./conversations.tsx")).ConversationsView,
  },
  jobs: {
    title: "Jobs",
    icon: "clock",
    methods: ["cron.list", "cron.runs"],
    load: async () => (await import("./jobs.tsx")).JobsView,
  },
  usage: {
    title: "Usage",
    icon: "bars",
    methods: ["usage.cost", "usage.status"],
    load: async () => (await import("./usage.tsx")).UsageView,
  },
  skills: {
    title: "Skills",
    icon: "book",
    methods: ["skills.status"],
    load: async () => (await import("./skills.tsx")).SkillsView,
  },
  plugins: {
    title: "Plugins",
    icon: "puzzle",
    methods: ["plugins.list"],
    load: async () => (await import("./plugins.tsx")).PluginsView,
  },
  logs: {
    title: "Logs",
    icon: "lines",
    methods: ["logs.tail"],
    load: async () => (await import("./logs.tsx")).LogsView,
  },
};

export const viewTitle = (view: PageView): string => FACTS[view].title;

function offered({ hello }: PageState): readonly PageView[] {
  return VIEWS.filter((view) => FACTS[view].methods.every((method) => hello?.methods.includes(method) === true));
}

/** Links to all views; each is a plain link, so that it can be opened in another tab. */
export function ViewLinks({ state, chat, done }: ViewProps & { readonly done: () => void }): VNode {
  const needs = needsOf(state);
  return (
    <ul class="view-links">
      {offered(state).map((view) => (
        <li key={view}>
          <a
            href={addressOf({ sessionKey: state.sessionKey, view })}
            aria-current={state.shown.view === view ? "page" : undefined}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              done();
              chat.visit(view);
            }}
          >
            <Icon name={FACTS[view].icon} />
            {FACTS[view].title}
            {view === "needs" && needs > 0 && <span class="count">{needs}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The open view, in place of the conversation. */
export function ShownView({ state, chat, view }: ViewProps & { readonly view: PageView }): VNode {
  const [loaded, setLoaded] = useState<{ readonly view: PageView; readonly Content: Content }>();
  const [failed, setFailed] = useState<PageView>();
  useEffect(() => {
    let isWanted = true;
    FACTS[view].load().then(
      (content) => isWanted && setLoaded({ view, Content: content }),
      () => isWanted && setFailed(view),
    );
    return () => {
      isWanted = false;
    };
  }, [view]);
  if (failed === view)
    return (
      <p class="outcome error" role="alert">
        This view could not be loaded. Reload the page.
      </p>
    );
  if (loaded?.view !== view) return <p class="hint view">Loading…</p>;
  return <loaded.Content state={state} chat={chat} />;
}
