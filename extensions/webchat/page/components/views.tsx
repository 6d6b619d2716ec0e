import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { addressOf } from "../model/address.ts";
import { loadPart } from "../browser/parts.ts";
import { needsOf, type PageState, type PageView, VIEWS } from "../model/state.ts";
import { Icon, type IconName } from "./common/icons.tsx";
import type { ViewProps } from "./views/view-parts.tsx";
import { t } from "../words/words.ts";

type Content = (props: ViewProps) => VNode;

interface ViewFacts {
  readonly title: string;
  readonly icon: IconName;
  /** Without these methods of the gateway the view is not offered. */
  readonly methods: readonly string[];
  readonly load: () => Promise<Content>;
  /** What was typed in it stays while another view or the chat is shown. */
  readonly keepsInput?: boolean;
}

/** The views beside the chat. The code of each is loaded when it is opened. */
const FACTS: Readonly<Record<PageView, ViewFacts>> = {
  needs: {
    title: t("Needs you"),
    icon: "bell",
    methods: ["status"],
    load: async () => (await import("./views/needs.tsx")).NeedsView,
  },
  conversations: {
    title: t("All chats"),
    icon: "search",
    methods: ["sessions.list", "sessions.search"],
    load: async () => (await import("./views/conversations.tsx")).ConversationsView,
  },
  channels: {
    title: t("Channels"),
    icon: "plug",
    methods: ["channels.status", "channels.capabilities", "channels.setups"],
    load: async () => (await import("./views/channels.tsx")).ChannelsView,
  },
  people: {
    title: t("People"),
    icon: "people",
    methods: ["pairing.list", "owners.list"],
    load: async () => (await import("./views/people.tsx")).PeopleView,
  },
  jobs: {
    title: t("Jobs"),
    icon: "clock",
    methods: ["cron.list", "cron.runs"],
    load: async () => (await import("./jobs/jobs.tsx")).JobsView,
  },
  usage: {
    title: t("Usage"),
    icon: "bars",
    methods: ["usage.cost", "usage.status"],
    load: async () => (await import("./views/usage.tsx")).UsageView,
  },
  agents: {
    title: t("Agents"),
    icon: "agent",
    methods: ["agents.list", "agents.files.list"],
    load: async () => (await import("./views/agents.tsx")).AgentsView,
  },
  memory: {
    title: t("Memory"),
    icon: "note",
    methods: ["doctor.memory.status", "memory.notes", "memory.note", "tools.invoke"],
    load: async () => (await import("./views/memory.tsx")).MemoryView,
  },
  skills: {
    title: t("Skills"),
    icon: "book",
    methods: ["skills.status"],
    load: async () => (await import("./views/skills.tsx")).SkillsView,
  },
  plugins: {
    title: t("Plugins"),
    icon: "puzzle",
    methods: ["plugins.list"],
    load: async () => (await import("./views/plugins.tsx")).PluginsView,
  },
  tools: {
    title: t("Tools"),
    icon: "shield",
    methods: ["tools.catalog", "policy.explain"],
    load: async () => (await import("./policy/tools.tsx")).ToolsView,
  },
  models: {
    title: t("Models"),
    icon: "key",
    methods: ["models.list", "models.authStatus"],
    load: async () => (await import("./views/models.tsx")).ModelsView,
  },
  health: {
    title: t("Health"),
    icon: "pulse",
    methods: ["status", "system.info"],
    load: async () => (await import("./health/health.tsx")).HealthView,
  },
  logs: {
    title: t("Logs"),
    icon: "lines",
    methods: ["logs.tail"],
    load: async () => (await import("./views/logs.tsx")).LogsView,
  },
  config: {
    title: t("Config"),
    icon: "sliders",
    methods: ["config.get", "config.schema", "config.schema.lookup", "config.patch", "config.apply"],
    load: async () => (await import("./views/config.tsx")).ConfigView,
    keepsInput: true,
  },
};

export const viewTitle = (view: PageView): string => FACTS[view].title;

/** The views that are offered, with their titles. */
export const offeredViews = (state: PageState) => offered(state).map((view) => ({ view, title: FACTS[view].title }));

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

interface Loaded {
  readonly view: PageView;
  readonly Content: Content;
}

/** The open view, in place of the conversation, and out of sight those whose input is kept. */
export function ShownView({ state, chat, view }: ViewProps & { readonly view: PageView | undefined }): VNode {
  const [loaded, setLoaded] = useState<readonly Loaded[]>([]);
  const [failed, setFailed] = useState<PageView>();
  useEffect(() => {
    if (view === undefined) return setLoaded(kept);
    return loadPart(
      FACTS[view].load,
      (Content) => setLoaded((before) => [...kept(before).filter(isOther(view)), { view, Content }]),
      () => setFailed(view),
    );
  }, [view]);
  return (
    <>
      {loaded.map(({ view: one, Content }) => (
        <div key={one} class="view-place" hidden={one !== view}>
          <Content state={state} chat={chat} />
        </div>
      ))}
      {view !== undefined && !loaded.some((one) => one.view === view) && <Loading hasFailed={failed === view} />}
    </>
  );
}

const kept = (views: readonly Loaded[]): readonly Loaded[] =>
  views.filter(({ view }) => FACTS[view].keepsInput === true);

const isOther =
  (view: PageView) =>
  (one: Loaded): boolean =>
    one.view !== view;

function Loading({ hasFailed }: { readonly hasFailed: boolean }): VNode {
  if (!hasFailed) return <p class="hint view">{t("Loading…")}</p>;
  return <p class="outcome error">{t("This view could not be loaded.")}</p>;
}
