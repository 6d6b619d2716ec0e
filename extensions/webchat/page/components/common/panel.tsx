import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";
import { t } from "../../words/words.ts";

interface PanelProps {
  readonly title: string;
  /** Of the dialog, for its style. */
  readonly name: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** A dialog about the whole gateway, with its title and a button that closes it. */
export function PanelDialog({ title, name, close, children }: PanelProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={`panel ${name}`}
      aria-labelledby={`${name}-title`}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="panel-inside">
        <header>
          <h2 id={`${name}-title`}>{title}</h2>
          <button type="button" class="plain-icon" aria-label={t("Close")} onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
