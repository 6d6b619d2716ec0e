import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { newId } from "../../browser/ids.ts";
import { shownValue, type KeyChange } from "../../config/draft.ts";
import { keyOf } from "../../config/form.ts";
import { keyAt, keyTitle, type SchemaNode } from "../../config/shape.ts";
import type { Chat } from "../../model/chat.ts";
import { sentence } from "../../model/format.ts";
import { ActButton, ListRow, RowList } from "./view-parts.tsx";
import { t } from "../../words/words.ts";

/** When a change takes effect. */
type Applies = "now" | "restart";

interface ReviewProps {
  readonly chat: Chat;
  readonly schema: SchemaNode;
  readonly changes: readonly KeyChange[];
  readonly isSecret: (path: KeyChange["path"]) => boolean;
  /** Why the gateway refused each key. */
  readonly issues: ReadonlyMap<string, string>;
  readonly problem: string | undefined;
  readonly isBusy: boolean;
  /** What is shown where no key changes. */
  readonly empty: string;
  readonly save: () => void;
  /** Back to the fields, to that of a key where one is named. */
  readonly back: (key?: string) => void;
}

/** What is changed by saving: each key with both values, and when it takes effect. */
export function Review(props: ReviewProps): VNode {
  const { chat, schema, changes, isSecret, issues, problem, isBusy, empty, save, back } = props;
  const applies = useApplies(chat, schema, changes);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  const named = new Set(changes.map(({ path }) => keyOf(path)));
  const others = [...issues].filter(([key]) => !named.has(key));
  return (
    <div ref={place} tabIndex={-1} class="config-review">
      {problem !== undefined && (
        <p class="outcome error" role="alert">
          {sentence(problem)}
        </p>
      )}
      {others.map(([key, message]) => (
        <p key={key} class="view-row-error">
          {key !== "" && (
            <button type="button" class="link" onClick={() => back(key)}>
              {key}
            </button>
          )}{" "}
          {message}
        </p>
      ))}
      <RowList title={t("What changes")} empty={empty}>
        {changes.map((change) => (
          <ChangeRow
            key={keyOf(change.path)}
            change={change}
            node={keyAt(schema, change.path).node}
            isSecret={isSecret(change.path)}
            applies={applies.get(keyAt(schema, change.path).pattern)}
            issue={issues.get(keyOf(change.path))}
            show={() => back(keyOf(change.path))}
          />
        ))}
      </RowList>
      <p class="config-acts">
        <ActButton label={t("Save")} kind="primary" isDisabled={isBusy} act={save} />
        <ActButton label={t("Back")} act={() => back()} />
      </p>
    </div>
  );
}

interface ChangeRowProps {
  readonly change: KeyChange;
  readonly node: SchemaNode;
  readonly isSecret: boolean;
  readonly applies: Applies | undefined;
  readonly issue: string | undefined;
  readonly show: () => void;
}

function ChangeRow({ change, node, isSecret, applies, issue, show }: ChangeRowProps): VNode {
  const { path, before, after } = change;
  const key = keyOf(path);
  const shown = (value: unknown): string =>
    isSecret && typeof value === "string" && !value.startsWith("${") ? t("a secret") : shownOr(value, node);
  return (
    <ListRow
      name={key}
      title={
        <button type="button" class="link" onClick={show}>
          {key}
        </button>
      }
      facts={[keyTitle(node, ""), applies && APPLIES[applies]]}
      error={issue}
    >
      <p class="config-diff">
        <del>{shown(before)}</del> <span aria-hidden="true">→</span> <ins>{shown(after)}</ins>
      </p>
    </ListRow>
  );
}

const APPLIES: Readonly<Record<Applies, string>> = {
  now: t("applies at once"),
  restart: t("applies after a restart"),
};

/** A value; for none, the default that then counts. */
const shownOr = (value: unknown, node: SchemaNode): string =>
  value === undefined && "default" in node
    ? t("the default, {value}", { value: shownValue(node["default"]) })
    : shownValue(value);

/** When each key takes effect, by its pattern, as far as the gateway has said it. */
function useApplies(chat: Chat, schema: SchemaNode, changes: readonly KeyChange[]): ReadonlyMap<string, Applies> {
  const [known, setKnown] = useState<ReadonlyMap<string, Applies>>(new Map());
  const patterns = [...new Set(changes.map(({ path }) => keyAt(schema, path).pattern))].join("\n");
  useEffect(() => {
    let isWanted = true;
    readApplies(chat, patterns.split("\n")).then(
      (read) => isWanted && setKnown(read),
      // The gateway says it again with its answer to the saving.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [chat, patterns]);
  return known;
}

async function readApplies(chat: Chat, patterns: readonly string[]): Promise<ReadonlyMap<string, Applies>> {
  const waits = async (path: string): Promise<boolean> =>
    (await chat.ask("config.schema.lookup", { path })).reloadKind === "restart";
  const sectionOf = (pattern: string): string => pattern.split(".")[0] ?? "";
  const sections = [...new Set(patterns.map(sectionOf))];
  // Where nothing in a section waits, no key of it does.
  const waiting = await Promise.all(sections.map(async (section) => ((await waits(section)) ? [section] : [])));
  const rows = patterns.map(async (pattern) => {
    const isWaiting = waiting.flat().includes(sectionOf(pattern)) && (await waits(pattern));
    return [pattern, isWaiting ? "restart" : "now"] as const;
  });
  return new Map(await Promise.all(rows));
}

/** Says that the config is saved, and offers the restart that it needs. */
export function SavedNote({ chat, restart }: { readonly chat: Chat; readonly restart: boolean }): VNode {
  const [interrupts, setInterrupts] = useState<string>();
  const [isAsked, setAsked] = useState(false);
  useEffect(() => {
    if (!restart) return;
    chat.ask("gateway.restart.preflight", {}).then(
      ({ safe, summary }) => setInterrupts(safe ? "" : summary),
      () => setInterrupts(""),
    );
  }, [chat, restart]);
  if (!restart)
    return (
      <p class="outcome" role="status">
        {t("Saved. It is in force.")}
      </p>
    );
  return (
    <div class="outcome" role="status">
      <p>
        {t("Saved. A part of it takes effect when the gateway restarts.")} {interrupts}
      </p>
      <p class="config-acts">
        {isAsked ? (
          <span>{t("The gateway was asked to restart; its answer is in the main chat.")}</span>
        ) : (
          <ActButton
            label={t("Restart the gateway")}
            kind="primary"
            act={() => (setAsked(true), restartGateway(chat))}
          />
        )}
        <ActButton label={t("Open the main chat")} act={() => chat.open("main")} />
      </p>
    </div>
  );
}

/** The command that restarts the gateway, as a person writes it in a chat. */
function restartGateway(chat: Chat): void {
  const params = { sessionKey: "main", message: "/restart", idempotencyKey: newId() };
  chat.ask("chat.send", params).catch((error: unknown) => chat.showNotice(error instanceof Error ? error.message : ""));
}

interface BarProps {
  readonly words: string;
  /** What is wrong, by key. */
  readonly problems: ReadonlyMap<string, string>;
  /** It cannot be saved as it is. */
  readonly isBlocked: boolean;
  readonly discard: () => void;
  /** Shows the field or the line of a key. */
  readonly show: (key: string) => void;
  readonly review: () => void;
}

/** What is not saved yet, and what is wrong with it, always in sight. */
export function ChangeBar({ words, problems, isBlocked, discard, show, review }: BarProps): VNode {
  return (
    <div class="config-bar">
      <p role="status">{words}</p>
      <button type="button" class="quiet" onClick={discard}>
        {t("Discard")}
      </button>
      <button type="button" class="primary" disabled={isBlocked} onClick={review}>
        {t("Look and save")}
      </button>
      {problems.size > 0 && (
        <ul>
          {[...problems].map(([key, problem]) => (
            <li key={key} class="view-row-error">
              <button type="button" class="link" onClick={() => show(key)}>
                {key === "" ? t("The config") : key}
              </button>
              : {problem}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
