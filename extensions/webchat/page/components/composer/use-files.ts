import { useEffect, useState } from "preact/hooks";
import { readFiles } from "../../model/attachments.ts";
import type { Chat } from "../../model/chat.ts";
import type { PageFile } from "../../model/files.ts";
import { forgetFiles, keepFiles, keptFiles } from "../../model/kept-files.ts";
import type { Limits } from "../../model/protocol.ts";
import { t } from "../../words/words.ts";

/** The files of the message that is being written. */
export interface WrittenFiles {
  readonly files: readonly PageFile[];
  setFiles(files: readonly PageFile[]): void;
  /** Adds those that can be sent, and tells why the others cannot. */
  add(files: Iterable<File> | undefined | null): void;
  /** Adds a recording. */
  addRecording(recording: File, durationMs: number): void;
}

/** The unsent files of each conversation, also after a reload of the tab; `first`: those of a message that is edited. */
export function useFiles(
  limits: Limits,
  chat: Chat,
  { place, first }: { readonly place: string; readonly first: readonly PageFile[] },
): WrittenFiles {
  const [all, setAll] = useState<ReadonlyMap<string, readonly PageFile[]>>(new Map());
  const files = all.get(place) ?? first;
  const change = (changed: (before: readonly PageFile[]) => readonly PageFile[]): void =>
    setAll((before) => {
      const next = changed(before.get(place) ?? first);
      keep(place, next);
      return new Map(before).set(place, next);
    });
  useEffect(() => {
    keptFiles(place).then(
      (kept) =>
        setAll((before) => (before.has(place) || kept.length === 0 ? before : new Map(before).set(place, kept))),
      unkept,
    );
  }, [place]);
  const read = (added: readonly File[], durationMs?: number): void => {
    readFiles(added, files, limits).then(
      (done) => {
        change((before) => [...before, ...done.files.map((file) => ({ ...file, durationMs }))]);
        if (done.refusals.length > 0) chat.showNotice(done.refusals.join(" "));
      },
      () => chat.showNotice(t("The files could not be read.")),
    );
  };
  return {
    files,
    setFiles: (next) => change(() => next),
    add: (added) => {
      const list = [...(added ?? [])];
      if (list.length > 0) read(list);
    },
    addRecording: (recording, durationMs) => read([recording], durationMs),
  };
}

/** A browser that keeps nothing, as in a private window, still has the files until a reload. */
const unkept = (): void => undefined;

function keep(place: string, files: readonly PageFile[]): void {
  const work = files.length === 0 ? forgetFiles(place) : keepFiles(place, files);
  work.catch(unkept);
}

/** Calls back with files that are dropped anywhere on the page. Answers whether files are held above it now. */
export function useDroppedFiles(isWanted: boolean, add: (files: FileList | undefined) => void): boolean {
  const [depth, setDepth] = useState(0);
  useEffect(() => {
    if (!isWanted) return undefined;
    const isFiles = ({ dataTransfer }: DragEvent): boolean =>
      dataTransfer?.types.includes("Files") === true && document.querySelector("dialog[open]") === null;
    const entered = (event: DragEvent): void => setDepth((before) => before + (isFiles(event) ? 1 : 0));
    const left = (): void => setDepth((before) => Math.max(0, before - 1));
    const dropped = (event: DragEvent): void => {
      setDepth(0);
      if (isFiles(event)) add(event.dataTransfer?.files);
    };
    window.addEventListener("dragenter", entered);
    window.addEventListener("dragleave", left);
    window.addEventListener("drop", dropped);
    return () => {
      window.removeEventListener("dragenter", entered);
      window.removeEventListener("dragleave", left);
      window.removeEventListener("drop", dropped);
      setDepth(0);
    };
  }, [isWanted, add]);
  return depth > 0;
}
