import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../model/chat.ts";
import { sessionTitle } from "../model/format.ts";
import { isOpen, needsOf, openRow } from "../model/state.ts";
import type { PageState } from "../model/state.ts";
import { Questions } from "./common/questions.tsx";
import { ErrorBoundary } from "./boundary.tsx";
import { Composer } from "./composer/composer.tsx";
import { TokenForm } from "./gate.tsx";
import { Banners, PageHeader } from "./header.tsx";
import { useFocusKept } from "./common/focus-kept.ts";
import { useFileDropsIgnored, useNarrow, useShiftKey } from "./common/hooks.ts";
import { ConversationLog } from "./log.tsx";
import { PalettePlace, usePalette } from "./palette/opener.tsx";
import { Panels } from "./setup/panels.tsx";
import { offeredViews, ShownView, viewTitle } from "./views.tsx";
import { Drawer, Sidebar } from "./sidebar.tsx";
import { t } from "../words/words.ts";

/** The whole page. */
export function App(props: { state: PageState; chat: Chat }): VNode {
  const { state, chat } = props;
  const narrow = useNarrow();
  const [drawer, setDrawer] = useState(false);
  useEffect(() => setDrawer(false), [narrow]);
  const running = isRunning(state);
  const { view } = state.shown;
  useEscape(running && !drawer && view === undefined, chat);
  useTitle(state, running);
  const isLetIn = state.link.state !== "unauthorized";
  useShiftKey("o", () => isLetIn && chat.startNew());
  useShiftKey("a", () => isLetIn && view === undefined && chat.archiveOpen());
  useFileDropsIgnored();
  useFocusKept();
  const palette = usePalette();
  if (!isLetIn) {
    return <TokenForm message={state.link.message} offered={state.offered !== undefined} chat={chat} />;
  }
  const closeDrawer = (): void => setDrawer(false);
  return (
    <div class="app">
      {narrow ? (
        <Drawer state={state} chat={chat} open={drawer} done={closeDrawer} />
      ) : (
        <aside>
          <ErrorBoundary retryOn={state} fallback={() => <DrawingFailed />}>
            <Sidebar state={state} chat={chat} done={closeDrawer} />
          </ErrorBoundary>
        </aside>
      )}
      <main>
        <PageHeader state={state} chat={chat} narrow={narrow} menu={() => setDrawer(true)} palette={palette.open} />
        <Banners state={state} chat={chat} />
        <ErrorBoundary retryOn={state} fallback={() => <DrawingFailed />}>
          {view === undefined && <ConversationLog state={state} chat={chat} />}
          <ShownView state={state} chat={chat} view={view} />
        </ErrorBoundary>
        {/* The message that is being written stays, with its files. */}
        <div class="foot" hidden={view !== undefined}>
          <ErrorBoundary retryOn={state} fallback={() => <DrawingFailed />}>
            {view === undefined && <Questions state={state} chat={chat} />}
          </ErrorBoundary>
          <Composer state={state} chat={chat} running={running} />
        </div>
      </main>
      <ErrorBoundary retryOn={state} fallback={() => <DrawingFailed />}>
        <Panels state={state} chat={chat} />
        <PalettePlace
          state={state}
          chat={chat}
          views={offeredViews(state)}
          running={running}
          opening={palette.opening}
          close={palette.close}
        />
      </ErrorBoundary>
    </div>
  );
}

function DrawingFailed(): VNode {
  return (
    <p class="outcome error" role="alert">
      {t("This part of the page could not be displayed. The browser's console shows the reason.")}
    </p>
  );
}

function isRunning(state: PageState): boolean {
  const busy = state.exchanges.some((exchange) => {
    const waiting = exchange.reply.state === "none" && exchange.sent?.state === "accepted";
    return isOpen(state, exchange.sessionKey) && (waiting || exchange.reply.state === "running");
  });
  return busy || openRow(state)?.active === true;
}

function useEscape(running: boolean, chat: Chat): void {
  useEffect(() => {
    if (!running) return undefined;
    const pressed = (event: KeyboardEvent): void => {
      // Escape closes an open dialog.
      const isFree = !event.defaultPrevented && !event.isComposing && document.querySelector("dialog[open]") === null;
      if (event.key === "Escape" && isFree) chat.abort();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [running, chat]);
}

function useTitle(state: PageState, running: boolean): void {
  const { sessionKey, shown } = state;
  const { view } = shown;
  const title = view === undefined ? sessionTitle(sessionKey, openRow(state)?.label) : viewTitle(view);
  const needs = needsOf(state);
  useEffect(() => {
    document.title = `${needs > 0 ? `(${needs}) ` : ""}${running ? "… " : ""}${title} – openclaw`;
  }, [title, running, needs]);
}
