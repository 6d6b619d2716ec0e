import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { keyOrder, keyOrderPatch, withMoved, noKeyPatch } from "../../models/model-order.ts";
import { seconds } from "../../model/format.ts";
import { useNow } from "../common/hooks.ts";
import {
  type ViewActs,
  ActButton,
  ListRow,
  mayAsk,
  RowList,
  SureButton,
  useActing,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { ownText } from "../../model/json.ts";
import { t } from "../../words/words.ts";

type Provider = Answers["models.authStatus"]["providers"][number];
type Key = Provider["profiles"][number];
type Config = Answers["config.get"];

interface KeysProps {
  readonly provider: Provider;
  readonly config: Config | undefined;
  readonly agentId: string;
  readonly view: ViewProps;
  readonly acting: ViewActs;
  /** Reads the keys again. */
  readonly again: () => void;
}

type KeyProps = KeysProps & { readonly profile: Key };

/** The keys of a provider in the order in which they are asked, each with its state and what can be done with it. */
export function ProviderKeys(props: KeysProps): VNode {
  const { provider, view } = props;
  const { displayName, profiles } = provider;
  return (
    <>
      <RowList
        title={t("Keys of {name}", { name: displayName })}
        empty={
          <>
            {t("No key, so its models cannot be called.")}{" "}
            {view.chat.mayChangeModel && <ActButton label={t("Add its key")} act={() => view.chat.show("model")} />}
          </>
        }
      >
        {profiles.map((key) => (
          <KeyRow key={key.profileId} profile={key} {...props} />
        ))}
      </RowList>
      {movable(profiles).length > 1 && <Rule {...props} />}
    </>
  );
}

/** The keys whose order the config can set: those that are stored for all agents and asked. */
const movable = (keys: readonly Key[]): readonly string[] =>
  keys.flatMap(({ profileId, source, note, status }) =>
    source === "stored" && status !== "expired" && status !== "missing" && note !== NOT_ORDERED ? [profileId] : [],
  );

const NOT_ORDERED = "not in the order";

/** Says by what the order of the keys comes about. */
function Rule({ provider: { provider }, config, view, acting }: KeysProps): VNode {
  const isOrdered = keyOrder(provider, config) !== undefined;
  return (
    <p class="hint">
      {isOrdered
        ? t("They are asked in this order.")
        : t(
            "Logins are asked first, then tokens and keys, and of these the one that was not used for the longest time.",
          )}
      {isOrdered && " "}
      {isOrdered && config && mayAsk(view, "config.patch") && (
        <button
          type="button"
          class="link"
          disabled={acting.isBusy}
          onClick={() =>
            acting.act(() => view.chat.ask("config.patch", { ...keyOrderPatch(provider, config, undefined) }))
          }
        >
          {t("Take turns instead")}
        </button>
      )}
    </p>
  );
}

function KeyRow(props: KeyProps): VNode {
  const { profile, view, again } = props;
  const { profileId, type, source = "stored", owner, note, expiry, status } = profile;
  const now = useNow(30_000);
  const error = troubleOf(profile, now);
  return (
    <ListRow
      name={profileId}
      title={profileId}
      facts={[
        error === undefined && status !== "missing" ? t("good") : undefined,
        ownText(KINDS, type) ?? type,
        SOURCES[source],
        owner,
        status === "missing" || status === "expired" ? undefined : note,
        expiry === undefined || type === "oauth" ? undefined : t("ends {time}", { time: when(expiry.at, now) }),
      ]}
      error={error}
      actions={<KeyActs {...props} />}
    >
      {mayAsk(view, "models.probe") && status !== "missing" && status !== "expired" && (
        <TestButton what={profileId} test={() => testKey(props)} done={again} />
      )}
    </ListRow>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  api_key: t("key"),
  token: t("token"),
  oauth: t("login"),
  "aws-sdk": t("login of AWS"),
  none: t("no key is needed"),
};

const SOURCES: Readonly<Record<NonNullable<Key["source"]>, string | undefined>> = {
  stored: t("stored"),
  agent: t("stored for this agent alone"),
  config: t("in the config"),
  env: t("in the environment of the gateway"),
  plugin: t("of a plugin"),
  none: undefined,
};

const FAILURES: Readonly<Record<string, string>> = {
  auth: t("the provider refused the key"),
  billing: t("the account had no credit"),
  rate_limit: t("its limit was reached"),
  overloaded: t("the provider was overloaded"),
  timeout: t("the provider did not answer in time"),
};

/** Why the key is not asked, in all or at some models; undefined when it is. */
function troubleOf({ status, note, cooldowns = [] }: Key, now: number): string | undefined {
  if (status === "expired") return t("Its time is over. Add a new one.");
  if (status === "missing") return t("It is not asked: {note}.", { note: note ?? t("it cannot be used") });
  const lasting = cooldowns.filter(({ until }) => until > now);
  if (lasting.length === 0) return undefined;
  return lasting
    .map(({ model, because, until }) => {
      const failure = ownText(FAILURES, because) ?? because.replaceAll("_", " ");
      return t("{model}: {failure}, so it is not asked until {time}.", { model, failure, time: when(until, now) });
    })
    .join(" ");
}

function KeyActs({ profile, provider: { provider, profiles }, config, agentId, view, acting }: KeyProps): VNode {
  const { profileId, source, note } = profile;
  const { act, isBusy } = acting;
  const { chat } = view;
  const ids = movable(profiles);
  const at = ids.indexOf(profileId);
  const setOrder = (next: readonly string[]): void => {
    if (!config) return;
    const others = (keyOrder(provider, config) ?? []).filter((id) => !next.includes(id));
    act(() => chat.ask("config.patch", { ...keyOrderPatch(provider, config, [...next, ...others]) }));
  };
  const remove = async (): Promise<void> => {
    if (source === "config")
      return void (config && (await chat.ask("config.patch", { ...noKeyPatch(provider, config) })));
    const of = source === "agent" ? { agentId } : {};
    await chat.ask("models.authLogout", { provider, profileIds: [profileId], ...of });
    const order = keyOrder(provider, config);
    if (!config || order?.includes(profileId) !== true) return;
    await chat.ask("config.patch", {
      ...keyOrderPatch(
        provider,
        config,
        order.filter((id) => id !== profileId),
      ),
    });
  };
  const isRemovable = source === "config" ? mayAsk(view, "config.patch") : source === "stored" || source === "agent";
  return (
    <>
      {mayAsk(view, "config.patch") && at >= 0 && ids.length > 1 && (
        <>
          <ActButton
            label={t("Up")}
            name={t("Up: {profileId}", { profileId })}
            isDisabled={isBusy || at === 0}
            act={() => setOrder(withMoved(ids, at, at - 1))}
          />
          <ActButton
            label={t("Down")}
            name={t("Down: {profileId}", { profileId })}
            isDisabled={isBusy || at === ids.length - 1}
            act={() => setOrder(withMoved(ids, at, at + 1))}
          />
        </>
      )}
      {mayAsk(view, "config.patch") && note === NOT_ORDERED && (
        <ActButton
          label={t("Ask it too")}
          name={t("Ask it too: {profileId}", { profileId })}
          isDisabled={isBusy}
          act={() => setOrder([...ids, profileId])}
        />
      )}
      {isRemovable && mayAsk(view, "models.authLogout") && (
        <SureButton label={t("Remove")} sure={t("Remove the key")} act={() => act(remove)} />
      )}
    </>
  );
}

interface TestProps {
  /** What is tested, for screen readers. */
  readonly what: string;
  /** Resolves with what came of it, in words. */
  readonly test: () => Promise<string>;
  readonly done?: () => void;
}

/** A button that tests a key or a model, with what came of it. */
export function TestButton({ what, test, done = () => undefined }: TestProps): VNode {
  const [said, setSaid] = useState("");
  const acting = useActing(done);
  const run = async (): Promise<void> => {
    setSaid(t("Asking …"));
    setSaid(await test());
  };
  return (
    <p class="view-test">
      <ActButton
        label={t("Test it")}
        name={t("Test it: {what}", { what })}
        isDisabled={acting.isBusy}
        act={() => acting.act(run)}
      />
      <span role="status">{acting.problem ?? said}</span>
    </p>
  );
}

export const answeredAfter = (ms: number): string => t("It answered after {time}.", { time: seconds(ms) });

async function testKey({ profile: { profileId }, provider, agentId, view }: KeyProps): Promise<string> {
  const asked = { provider: provider.provider, profileId, agentId };
  const { status, latencyMs = 0, error } = await view.chat.ask("models.probe", asked);
  return status === "ok"
    ? answeredAfter(latencyMs)
    : (error ?? t("It failed: {status}.", { status: status.replaceAll("_", " ") }));
}
