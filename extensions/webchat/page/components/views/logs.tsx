import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isRecord, readJsonText, stringOr } from "../../model/json.ts";
import { timeWithSeconds } from "../../model/format.ts";
import { PickButtons, ViewFrame, type ViewProps } from "./view-parts.tsx";
import { seen, t } from "../../words/words.ts";

/** Lines that are kept; older ones are in the file. */
const MOST_LINES = 5000;
/** Events after which the log has new lines. Each connection gets a `tick` every few seconds. */
const FOLLOWED = ["tick", "health", "chat", "agent", "sessions.changed", "session.queue", "config.changed", "cron"];
const LEVELS = [
  ["debug", t("debug and above")],
  ["info", t("info and above")],
  ["warn", t("warn and above")],
  ["error", t("errors only")],
] as const;
type Level = (typeof LEVELS)[number][0];

/** Events within this time share a read, which finds the lines that were written just after the first one. */
const SHARED_MS = 250;

interface Line {
  readonly id: number;
  readonly level: string;
  readonly at: string;
  readonly message: string;
  /** The other fields, as `name=value`. */
  readonly facts: string;
}

/** The lines of the gateway's log, followed while the view is open. */
export function LogsView(props: ViewProps): VNode {
  const [level, setLevel] = useState<Level>("info");
  const [words, setWords] = useState("");
  const [isFollowed, setFollowed] = useState(true);
  const { lines, file, problem } = useLog(props, isFollowed);
  const shown = useMemo(() => lines.filter((line) => fits(line, level, words.toLowerCase())), [lines, level, words]);
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isFollowed) end.current?.scrollIntoView({ block: "end" });
  }, [shown.length, isFollowed]);
  const tools = (
    <>
      <PickButtons label={t("Least level")} value={level} options={LEVELS} choose={setLevel} />
      <input
        type="search"
        aria-label={t("Words in the line")}
        placeholder={t("Words, such as a session or a run")}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <label class="tick">
        <input type="checkbox" checked={isFollowed} onChange={(event) => setFollowed(event.currentTarget.checked)} />
        {t("Follow")}
      </label>
    </>
  );
  return (
    <ViewFrame tools={tools} problems={[problem]} isRead={file !== undefined}>
      <ol class="log-lines" aria-label={t("Lines of {file}", { file: file ?? "" })} tabIndex={0}>
        {shown.map((line) => (
          <li key={line.id} class={`log-line ${line.level}`}>
            <time>{line.at}</time> <strong>{seen(line.message)}</strong> <span>{seen(line.facts)}</span>
          </li>
        ))}
        <li ref={end} class="hint">
          {shown.length === 0 ? t("No line fits.") : file}
        </li>
      </ol>
    </ViewFrame>
  );
}

/** Reads new lines when an event says that there may be some. One read at a time. */
function useLog({ state, chat }: ViewProps, isFollowed: boolean) {
  const [log, setLog] = useState<{ lines: readonly Line[]; file?: string; problem?: string }>({ lines: [] });
  const place = useRef<{ cursor: number | undefined; count: number; isBusy: boolean }>({
    cursor: undefined,
    count: 0,
    isBusy: false,
  });
  const isConnected = state.link.state === "connected";
  useEffect(() => {
    if (!isConnected) return undefined;
    const read = async (): Promise<void> => {
      const at = place.current;
      if (at.isBusy) return;
      at.isBusy = true;
      try {
        const answer = await chat.ask("logs.tail", {
          limit: 1000,
          ...(at.cursor !== undefined && { cursor: at.cursor }),
        });
        const isAnew = at.cursor === undefined || answer.reset === true;
        at.cursor = answer.cursor;
        const added = answer.lines.map((line) => readLine(line, (at.count += 1)));
        setLog(({ lines }) => ({
          file: answer.file,
          lines: isAnew ? added : [...lines, ...added].slice(-MOST_LINES),
        }));
      } catch (error) {
        setLog((before) => ({ ...before, problem: error instanceof Error ? error.message : String(error) }));
      } finally {
        at.isBusy = false;
      }
    };
    void read();
    if (!isFollowed) return undefined;
    let timer: number | undefined;
    const end = chat.listen(FOLLOWED, () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void read();
      }, SHARED_MS);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [chat, isConnected, isFollowed]);
  return log;
}

const RANK: Readonly<Record<string, number>> = { trace: 0, debug: 1, info: 2, warn: 3, error: 4, fatal: 5 };

function fits({ level, message, facts }: Line, least: string, words: string): boolean {
  const isLoud = (RANK[level] ?? 2) >= (RANK[least] ?? 2);
  return isLoud && (words === "" || `${message} ${facts}`.toLowerCase().includes(words));
}

/** Reads one line of JSON; a line of another form is its own message. */
function readLine(raw: string, id: number): Line {
  const value = readJsonText(raw);
  if (!isRecord(value)) return { id, level: "info", at: "", message: raw, facts: "" };
  // `message` has the fields once more, for clients that show nothing else.
  const { level, time, msg, message: _, ...others } = value;
  const at = new Date(stringOr(time));
  return {
    id,
    level: stringOr(level, "info"),
    at: Number.isNaN(at.getTime()) ? stringOr(time) : timeWithSeconds(at),
    message: stringOr(msg),
    facts: Object.entries(others)
      .map(([name, one]) => `${name}=${typeof one === "string" ? one : JSON.stringify(one)}`)
      .join(" "),
  };
}
