import type { VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { NOT_LOADED, useLoaded } from "../common/hooks.ts";
import { Icon } from "../common/icons.tsx";
import { t } from "../../words/words.ts";
import type { PaletteProps } from "./palette.tsx";

const IS_APPLE = /Mac|iP(?:hone|ad|od)/.test(navigator.platform);

/** The key of the palette. On a Mac, Ctrl+K deletes up to the end of a line, and stays that. */
const KEY = IS_APPLE ? "⌘K" : "Ctrl+K";

/** Whether the palette is open; its key opens and closes it. */
export function usePalette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const isMeant = IS_APPLE ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
      if (!isMeant || event.shiftKey || event.altKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      const shown = document.querySelector<HTMLDialogElement>("dialog[open]");
      const isPalette = shown?.classList.contains("palette") === true;
      // The browser gives the focus back to where it was when a dialog closes, not when it is taken away.
      if (isPalette) shown.close();
      if (isPalette || shown === null) setOpen(!isPalette);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return { isOpen, open: useCallback(() => setOpen(true), []), close: useCallback(() => setOpen(false), []) };
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

/** The palette while it is open. Its code is loaded when it is opened first. */
export function PalettePlace(props: Omit<PaletteProps, "told"> & { readonly isOpen: boolean }): VNode {
  const { isOpen, chat, close } = props;
  const [told, setTold] = useState("");
  const loaded = useLoaded(
    isOpen,
    () => import("./palette.tsx"),
    () => {
      close();
      chat.showNotice(NOT_LOADED);
    },
  );
  const tell = (words: string): void => {
    setTold(words);
    setTimeout(() => setTold(""), 2000);
  };
  return (
    <>
      {isOpen && loaded !== undefined && <loaded.Palette {...props} told={tell} />}
      <p class={told === "" ? "unseen" : "palette-told"} role="status">
        {told}
      </p>
    </>
  );
}
