import type { Chat } from "../../model/chat.ts";
import { channelName, factLine, plainKey, sessionTitle } from "../../model/format.ts";
import { agentTitle, isOpen, openRow, type PageState, type PageView } from "../../model/state.ts";
import { chosenTheme, chooseTheme, type Theme, THEMES } from "../../browser/theme.ts";
import type { Entry } from "../../palette/entries.ts";
import { UNKEPT } from "../common/fields.tsx";
import { t } from "../../words/words.ts";
import { copyText } from "../common/clipboard.ts";

/** A view that is offered. */
export interface PaletteView {
  readonly view: PageView;
  readonly title: string;
}

/** What the entries work on. */
export interface PaletteScene {
  readonly state: PageState;
  readonly chat: Chat;
  readonly running?: boolean;
  /** Tells the person for a moment what was done. */
  readonly told?: (words: string) => void;
}

/** Everything that can be opened or done now. */
export function actionsOf(scene: PaletteScene & { readonly views: readonly PaletteView[] }): readonly Entry[] {
  return [
    ...doings(scene),
    ...scene.views.map(({ view, title }): Entry => ({
      id: `view:${view}`,
      group: "views",
      title,
      words: t("view"),
      run: () => openView(scene.chat, view),
    })),
    ...conversations(scene),
    ...agents(scene),
    ...commands(scene),
  ];
}

/** Something to do, and whether it can be done now. */
type Doing = Omit<Entry, "group"> & { readonly isOffered?: boolean };

const doings = (scene: PaletteScene): readonly Entry[] =>
  [...ofTheChat(scene), ...ofThePage(scene)].flatMap(({ isOffered = true, ...action }) =>
    isOffered ? [{ ...action, group: "actions" }] : [],
  );

function ofTheChat({ state, chat, running = false, told }: PaletteScene): readonly Doing[] {
  const answer = chat.lastAnswer();
  const hasSettings = state.hello?.methods.includes("sessions.describe") === true;
  return [
    { id: "stop", title: t("Stop the answer"), hint: t("Escape"), isOffered: running, run: () => chat.abort() },
    {
      id: "new",
      title: t("New chat"),
      hint: t("Ctrl+Shift+O"),
      words: t("begin conversation"),
      run: () => chat.startNew(),
    },
    {
      id: "archive",
      title: t("Archive this chat"),
      hint: t("Ctrl+Shift+A"),
      words: t("conversation put away"),
      isOffered: state.shown.view === undefined && openRow(state)?.updatedAt !== undefined,
      run: () => chat.archiveOpen(),
    },
    {
      id: "chat",
      title: t("Back to the chat"),
      words: t("conversation"),
      isOffered: state.shown.view !== undefined,
      run: () => (chat.visit(), focusMessage()),
    },
    {
      id: "find",
      title: t("Search in this conversation"),
      hint: t("Ctrl+Shift+F"),
      words: t("find words"),
      run: () => (chat.visit(), chat.find(true)),
    },
    {
      id: "copy",
      title: t("Copy the last answer"),
      words: t("clipboard markdown"),
      isOffered: answer !== "",
      run: () =>
        void copyText(answer, async () => (await import("../markdown/markdown.tsx")).answerHtml([answer])).then(
          (isDone) => told?.(isDone ? t("Copied") : t("Copy failed")),
        ),
    },
    {
      id: "settings",
      title: t("Session settings"),
      words: t("conversation model thinking queue"),
      isOffered: hasSettings,
      run: () => (chat.visit(), chat.settings(true)),
    },
  ];
}

function ofThePage({ chat }: PaletteScene): readonly Doing[] {
  return [
    {
      id: "model",
      title: t("Change the model of the gateway"),
      words: t("provider key"),
      isOffered: chat.mayChangeModel,
      run: () => chat.show("model"),
    },
    ...THEMES.filter((theme) => theme !== chosenTheme()).map((theme) => ({
      id: `theme:${theme}`,
      title: THEME_TITLES[theme],
      words: t("theme appearance mode"),
      run: () => void (chooseTheme(theme) || chat.showNotice(UNKEPT)),
    })),
  ];
}

const THEME_TITLES: Readonly<Record<Theme, string>> = {
  system: t("Colours of the system"),
  light: t("Light colours"),
  dark: t("Dark colours"),
};

/** The conversations that the page lists, the latest first. */
function conversations(scene: PaletteScene): readonly Entry[] {
  const { sessions } = scene.state;
  const rows = sessions.toSorted((one, other) => (other.updatedAt ?? 0) - (one.updatedAt ?? 0));
  const main = sessions.some(({ key }) => isMain(scene.state, key)) ? [] : [{ key: "main", label: undefined }];
  return [...rows, ...main].map(({ key, label }) => conversationEntry(scene, key, sessionTitle(key, label)));
}

const isMain = ({ hello }: PageState, key: string): boolean => plainKey(key, hello?.defaultAgent) === plainKey("main");

/** The entry that opens a conversation. */
export function conversationEntry({ state, chat }: PaletteScene, key: string, title: string): Entry {
  const where = factLine([agentTitle(state, key), channelName(key)]);
  return {
    id: `conversation:${plainKey(key, state.hello?.defaultAgent)}`,
    group: "conversations",
    title,
    hint: state.shown.view === undefined && isOpen(state, key) ? t("{where} · open", { where }) : where,
    words: t("chat conversation"),
    run: () => (chat.open(key), focusMessage()),
  };
}

const agents = ({ state, chat }: PaletteScene): readonly Entry[] =>
  state.catalog.agents.map(({ id, title }) => ({
    id: `agent:${id}`,
    group: "agents",
    title: t("New chat with {agent}", { agent: title }),
    words: t("agent talk {id}", { id }),
    run: () => chat.startNew(id),
  }));

const commands = ({ state, chat }: PaletteScene): readonly Entry[] =>
  state.catalog.commands.map(({ name, aliases, help }) => ({
    id: `command:${name}`,
    group: "commands",
    title: `/${name}`,
    hint: help,
    words: aliases.join(" "),
    run: () => (chat.visit(), chat.beginMessage(`/${name} `), focusMessage()),
  }));

/** After the page is drawn: the focus is on the title of the view, from which Tab leads into it. */
function openView(chat: Chat, view: PageView): void {
  chat.visit(view);
  focusWhenDrawn(() => document.querySelector<HTMLElement>("main h1"));
}

const focusMessage = (): void => focusWhenDrawn(() => document.querySelector<HTMLElement>(".composer textarea"));

/** The page draws what has changed in its next frame. */
function focusWhenDrawn(place: () => HTMLElement | null): void {
  requestAnimationFrame(() => requestAnimationFrame(() => place()?.focus()));
}
