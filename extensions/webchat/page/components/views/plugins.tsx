import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import {
  type ViewActs,
  ActButton,
  TerminalCommand,
  ListRow,
  mayAsk,
  RowList,
  RowText,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
} from "./view-parts.tsx";
import { rich } from "../../words/rich.ts";
import { ownText } from "../../model/json.ts";
import { t } from "../../words/words.ts";

type Plugin = Answers["plugins.list"]["plugins"][number];
type Loaded = Answers["plugins.loaded"]["plugins"][number];
type Fault = NonNullable<Answers["plugins.loaded"]["faults"]>[number];

const CHANGED = { changedBy: ["config.changed"], isReadOnReturn: true };

/** The plugins: what each contributes, why one does not work, and its switch. */
export function PluginsView(props: ViewProps): VNode {
  const plugins = useAnswer(props, { method: "plugins.list", ...CHANGED });
  // With the check, the gateway also tries what the config selects of them.
  const loaded = useAnswer(props, { method: "plugins.loaded", params: { check: true }, ...CHANGED });
  const acting = useActing(() => (plugins.again(), loaded.again()));
  const { plugins: all = [] } = plugins.answer ?? {};
  const { plugins: records = [], faults = [] } = loaded.answer ?? {};
  const rows = (some: readonly Plugin[]): readonly VNode[] =>
    some.map((plugin) => (
      <PluginRow
        key={`${plugin.origin}:${plugin.id}`}
        plugin={plugin}
        record={plugin.origin === "bundled" ? undefined : records.find(({ id }) => id === plugin.id)}
        faults={faults.filter((fault) => fault.plugin === plugin.id)}
        view={props}
        acting={acting}
      />
    ));
  return (
    <ViewFrame
      problems={[plugins.problem, loaded.problem, acting.problem]}
      isRead={plugins.answer !== undefined && (loaded.answer !== undefined || loaded.problem !== undefined)}
    >
      <RowList title={t("Installed")} empty={t("No plugin was added to this gateway.")}>
        {rows(all.filter(({ origin }) => origin !== "bundled"))}
      </RowList>
      <section aria-label={t("Install one")}>
        <p class="hint">
          {rich("A terminal shows what a plugin holds and may do, and asks before it installs it: {command}", {
            command: <code>openclaw plugins install &lt;package, folder or archive&gt;</code>,
          })}
        </p>
      </section>
      <RowList title={t("Come with the gateway")}>{rows(all.filter(({ origin }) => origin === "bundled"))}</RowList>
    </ViewFrame>
  );
}

interface PluginProps {
  readonly plugin: Plugin;
  /** As the gateway loaded it; unset for a part of the gateway. */
  readonly record: Loaded | undefined;
  readonly faults: readonly Fault[];
  readonly view: ViewProps;
  readonly acting: ViewActs;
}

function PluginRow(props: PluginProps): VNode {
  const { plugin, record, faults } = props;
  const { id, name, enabled, description, error, removable } = plugin;
  const isBroken = record?.state === "failed" || record?.state === "broken";
  return (
    <ListRow
      title={name}
      facts={factsOf(plugin, record)}
      error={
        isBroken ? t("It does not work: {why}.", { why: record.why ?? error ?? t("no reason is known") }) : undefined
      }
      actions={<PluginActs {...props} isBroken={isBroken} />}
    >
      {isBroken && <Fix record={record} />}
      {faults.map(({ message, fix }) => (
        <p key={message} class="view-row-error">
          {message} {fix}
        </p>
      ))}
      {description !== undefined && <RowText text={description} />}
      {record && <Added record={record} />}
      {record && <Unmet record={record} />}
      {removable && !enabled && <TerminalCommand command={`openclaw plugins uninstall ${id}`} />}
    </ListRow>
  );
}

const factsOf = ({ id, name, version, kind = [], category, origin, enabled }: Plugin, record: Loaded | undefined) => [
  name === id ? undefined : id,
  version,
  kind.join(", ") || category,
  ownText(ORIGINS, origin) ?? origin,
  enabled ? undefined : t("switched off"),
  record?.cost && callsText(record.cost),
];

function Fix({ record: { id, fix, origin } }: { readonly record: Loaded }): VNode | null {
  if (fix !== undefined) return <RowText text={fix} />;
  return origin === "global" ? <TerminalCommand command={`openclaw plugins update ${id}`} /> : null;
}

/** Kinds of the places where a plugin is found. */
const ORIGINS: Readonly<Record<string, string>> = {
  bundled: "",
  global: t("installed"),
  workspace: t("of the workspace"),
  config: t("of a folder of the config"),
};

/** Whether it cannot be switched off: this page would go with the web chat. */
const isPartOfGateway = ({ id, origin, category }: Plugin): boolean =>
  origin === "bundled" && (id === "webchat" || (category !== "channel" && category !== "memory"));

function PluginActs({ plugin, view, acting, isBroken }: PluginProps & { readonly isBroken: boolean }): VNode | null {
  const { id, name, enabled, category } = plugin;
  if (isPartOfGateway(plugin) || !mayAsk(view, "plugins.setEnabled")) return null;
  const { chat } = view;
  const label = enabled ? t("Switch off") : t("Switch on");
  // A channel needs an account before it can be switched on.
  if (category === "channel" && !enabled)
    return (
      <ActButton
        label={t("Show the channels")}
        name={t("Show the channels: {name}", { name })}
        act={() => chat.visit("channels")}
      />
    );
  return (
    <>
      {isBroken && enabled && (
        <ActButton
          label={t("Try again")}
          name={t("Try again: {name}", { name })}
          isDisabled={acting.isBusy}
          act={() => acting.act(() => chat.ask("plugins.retry", { pluginId: id }))}
        />
      )}
      <ActButton
        label={label}
        name={`${label}: ${name}`}
        isDisabled={acting.isBusy}
        act={() => acting.act(() => chat.ask("plugins.setEnabled", { pluginId: id, enabled: !enabled }))}
      />
    </>
  );
}

/** The names of a plugin's contributions, by kind. */
function Added({ record: { added = {} } }: { readonly record: Loaded }): VNode | null {
  const kinds = Object.entries(added).filter(([kind]) => !UNNAMED.includes(kind));
  if (kinds.length === 0) return null;
  return (
    <ul class="view-row-facts" aria-label={t("Contributes")}>
      {kinds.map(([kind, names]) => (
        <li key={kind}>
          {ownText(KINDS, kind) ?? kind}: {names.join(", ")}
        </li>
      ))}
    </ul>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  turnKinds: t("kinds of turns"),
  commands: t("commands of the chat"),
  methods: t("methods of the gateway"),
  httpRoutes: t("addresses"),
  cliCommands: t("commands of the terminal"),
  checks: t("checks of the doctor"),
  engines: t("context engines"),
  memorySupplements: t("additions to the memory"),
  providers: t("providers of models"),
  webSearches: t("web searches"),
  sandboxEngines: t("sandboxes"),
};
/** Kinds whose names say nothing to a person. */
const UNNAMED: readonly string[] = ["configs", "skills"];

/** What the plugin asks for and does not get. */
function Unmet({ record }: { readonly record: Loaded }): VNode | null {
  const { id, missing = [], notServed = [], neverCalled = [], refusedParts = [], refusedHooks = [] } = record;
  const lacks = [
    [t("not in this gateway"), [...missing, ...notServed]],
    [t("never called"), neverCalled],
    [t("not taken"), refusedParts],
    [t("hooks without the right to read conversations"), refusedHooks],
  ] as const;
  const shown = lacks.filter(([, names]) => names.length > 0);
  if (shown.length === 0) return null;
  return (
    <>
      <ul class="view-row-facts" aria-label={t("Does not work")}>
        {shown.map(([what, names]) => (
          <li key={what}>
            {what}: {names.join(", ")}
          </li>
        ))}
      </ul>
      {refusedHooks.length > 0 && (
        <TerminalCommand command={`openclaw config set plugins.entries.${id}.hooks.allowConversationAccess true`} />
      )}
    </>
  );
}

function callsText({ calls, failed, lastError }: NonNullable<Loaded["cost"]>): string {
  const words = t("{n} call|{n} calls", { n: calls });
  if (failed === 0) return words;
  const failures = t("{n} failed", { n: failed });
  return lastError === undefined ? `${words}, ${failures}` : `${words}, ${failures}: ${lastError}`;
}
