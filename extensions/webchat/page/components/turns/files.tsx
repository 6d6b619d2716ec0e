import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { blobOf, shownFile, type FileKind, type PageFile, type ShownFile } from "../../model/files.ts";
import { clockTime, factLine, size } from "../../model/format.ts";
import { t } from "../../words/words.ts";
import { Icon, type IconName } from "../common/icons.tsx";

const ICONS: Readonly<Record<FileKind, IconName>> = { image: "file", audio: "sound", video: "film", document: "file" };

interface FileProps {
  readonly file: ShownFile;
  /** Reads the bytes that the gateway has. */
  readonly fetched: (url: string) => Promise<Blob>;
}

/** A file of a message: an image is shown, a sound or film is played, and each can be saved. */
export function FilePart({ file, fetched }: FileProps): VNode {
  const { bytes, why, read } = useBytes(file, fetched);
  const url = useObjectUrl(bytes);
  useEffect(() => {
    if (file.kind === "image") read().catch(ignore);
  }, []);
  if (file.kind === "image" && url !== undefined) return <img class="picture" src={url} alt={file.name} />;
  const save = (): void => void read().then((blob) => saveAs(blob, file.name), ignore);
  return (
    <div class="file">
      <Icon name={ICONS[file.kind]} />
      <FileFacts file={file} />
      {isPlayed(file) && url === undefined && (
        <button
          key="play"
          type="button"
          class="plain-icon"
          aria-label={t("Play {name}", { name: file.name })}
          title={t("Play")}
          onClick={() => void read().catch(ignore)}
        >
          <Icon name="play" />
        </button>
      )}
      <button
        key="save"
        type="button"
        class="plain-icon"
        aria-label={t("Save {name}", { name: file.name })}
        title={t("Save")}
        onClick={save}
      >
        <Icon name="save" />
      </button>
      {url !== undefined && isPlayed(file) && <Player file={file} url={url} />}
      {why !== undefined && (
        <p class="file-why" role="status">
          {why}
        </p>
      )}
    </div>
  );
}

const isPlayed = ({ kind }: ShownFile): boolean => kind === "audio" || kind === "video";

/** The reason is shown beside the file. */
const ignore = (): void => undefined;

/** The name, type and size of a file. */
function FileFacts({ file: { name, mimeType, size: bytes, durationMs } }: { readonly file: ShownFile }): VNode {
  const facts = [
    kindText(name, mimeType),
    durationMs === undefined ? "" : clockTime(durationMs),
    bytes === undefined ? "" : size(bytes),
  ];
  return (
    <span class="file-facts">
      <span class="file-name" dir="auto">
        {name}
      </span>
      <span class="file-size">{factLine(facts)}</span>
    </span>
  );
}

/** The type of a file in a short word: its ending, else what its type says. */
function kindText(name: string, mimeType: string): string {
  const ending = /\.([A-Za-z0-9]{1,6})$/.exec(name)?.[1];
  return (ending ?? mimeType.split(/[/;+]/)[1] ?? "").toUpperCase();
}

/** A sound or film with the browser's own controls. */
function Player({ file, url }: { readonly file: ShownFile; readonly url: string }): VNode {
  const isOfGateway = file.source.at === "gateway";
  const player = useRef<HTMLVideoElement & HTMLAudioElement>(null);
  useLayoutEffect(() => {
    // The button that was pressed is gone, and the focus with it unless it was moved meanwhile.
    if (isOfGateway && document.activeElement === document.body) player.current?.focus({ preventScroll: true });
  }, []);
  return file.kind === "video" ? (
    <video ref={player} class="player" src={url} aria-label={file.name} controls autoPlay={isOfGateway} />
  ) : (
    <audio ref={player} class="player" src={url} aria-label={file.name} controls autoPlay={isOfGateway} />
  );
}

/** The bytes of a file, once they were read, or why they could not be. Those that are on the page are there at once. */
function useBytes({ source, mimeType, kind }: ShownFile, fetched: FileProps["fetched"]) {
  const here = source.at === "page" && kind !== "document" ? source.data : undefined;
  const [bytes, setBytes] = useState<Blob | undefined>(() => (here === undefined ? undefined : blobOf(here, mimeType)));
  const [why, setWhy] = useState<string>();
  const read = async (): Promise<Blob> => {
    if (bytes !== undefined) return bytes;
    try {
      const blob = source.at === "page" ? blobOf(source.data, mimeType) : await fetched(source.url);
      setBytes(blob);
      setWhy(undefined);
      return blob;
    } catch (error) {
      setWhy(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
  return { bytes, why, read };
}

/** Saves bytes under a name, as the browser saves files. */
function saveAs(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The files of the message that is being written, each with what it is and a button that removes it. */
export function AttachedFiles(props: { files: readonly PageFile[]; remove: (file: PageFile) => void }): VNode {
  return (
    <ul class="attached" aria-label={t("Attached files")}>
      {props.files.map((file, index) => (
        <AttachedFile key={`${index}:${file.name}`} file={file} remove={() => props.remove(file)} />
      ))}
    </ul>
  );
}

function AttachedFile({ file, remove }: { readonly file: PageFile; readonly remove: () => void }): VNode {
  const shown = useMemo(() => shownFile(file), [file]);
  const bytes = useMemo(() => (shown.kind === "document" ? undefined : blobOf(file.data, file.mimeType)), [file]);
  const url = useObjectUrl(bytes);
  return (
    <li class={`file ${shown.kind}`}>
      {shown.kind === "image" && url !== undefined ? <img src={url} alt="" /> : <Icon name={ICONS[shown.kind]} />}
      <FileFacts file={shown} />
      <button
        type="button"
        class="plain-icon"
        aria-label={t("Remove {name}", { name: file.name })}
        title={t("Remove")}
        onClick={remove}
      >
        <Icon name="close" />
      </button>
      {url !== undefined && (shown.kind === "audio" || shown.kind === "video") && <Player file={shown} url={url} />}
    </li>
  );
}

/** The address at which the browser shows these bytes while the component is there. */
function useObjectUrl(bytes: Blob | undefined): string | undefined {
  const [made, setMade] = useState<{ readonly of: Blob; readonly url: string }>();
  useLayoutEffect(() => {
    if (bytes === undefined) return undefined;
    const url = URL.createObjectURL(bytes);
    setMade({ of: bytes, url });
    return () => URL.revokeObjectURL(url);
  }, [bytes]);
  return made?.of === bytes ? made?.url : undefined;
}
