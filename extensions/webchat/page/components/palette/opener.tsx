import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useLoaded } from "../common/hooks.ts";
import { Icon } from "../common/icons.tsx";
import { t } from "../../words/words.ts";
import type { PaletteProps } from "./palette.tsx";

const IS_APPLE = /Mac|iP(?:hone|ad|od)/.test(navigator.platform);

/** The key of the palette. On a Mac, Ctrl+K deletes up to the end of a line, and stays that. */
const KEY = IS_APPLE ? "⌘K" : "Ctrl+K";

/** The palette, while it is open, is known by the number of its opening; its key opens and closes it. */
export function usePalette() {
  const [opening, setOpening] = useState<number>();
  const openings = useRef(0);
  const open = useCallback(() => setOpening((openings.current += 1)), []);
  // The browser tells later that a dialog was closed: by then the next one may be open.
  const close = useCallback((which: number) => setOpening((now) => (now === which ? undefined : now)), []);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const isMeant = IS_APPLE ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
      if (!isMeant || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      const shown = document.querySelector<HTMLDialogElement>("dialog[open]");
      const isPalette = shown?.classList.contains("palette") === true;
      // The browser gives the focus back to where it was when a dialog closes, not when it is taken away.
      if (isPalette) shown.close();
      else if (shown === null) open();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return { opening, open, close };
}

/** Opens the palette without its key. */
export function PaletteButton({ open }: { readonly open: () => void }): VNode {
  return (
    <button
      type="button"
      class="plain-icon"
      aria-label={t("Find and do")}
      aria-haspopup="dialog"
      aria-keyshortcuts={IS_APPLE ? "Meta+K" : "Control+K"}
      title={t("Find and do ({key})", { key: KEY })}
      onClick={open}
    >
      <Icon name="compass" />
    </button>
  );
}

type PlaceProps = Omit<PaletteProps, "told" | "close"> & {
  readonly opening: number | undefined;
  readonly close: (opening: number) => void;
};

/** The palette while it is open. Its code is loaded when it is opened first. */
export function PalettePlace(props: PlaceProps): VNode {
  const { opening, close, ...scene } = props;
  const [told, setTold] = useState("");
  const loaded = useLoaded(
    opening !== undefined,
    () => import("./palette.tsx"),
    () => opening !== undefined && close(opening),
  );
  const tell = (words: string): void => {
    setTold(words);
    setTimeout(() => setTold(""), 2000);
  };
  return (
    <>
      {opening !== undefined && loaded !== undefined && (
        <loaded.Palette key={opening} {...scene} close={() => close(opening)} told={tell} />
      )}
      <p class={told === "" ? "unseen" : "palette-told"} role="status">
        {told}
      </p>
    </>
  );
}
