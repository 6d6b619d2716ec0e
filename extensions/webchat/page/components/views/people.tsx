import type { Answers } from "openclaw/plugin-sdk/answers";
import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { problemOf } from "../../channels/channel-setup.ts";
import type { Chat } from "../../model/chat.ts";
import { shortNameIn } from "../../model/json.ts";
import type { Pairing } from "../../model/protocol.ts";
import type { PageState } from "../../model/state.ts";
import { ViewFrame, type ViewProps } from "./view-parts.tsx";
import { rich } from "../../words/rich.ts";
import { dayText, factLine } from "../../model/format.ts";
import { t } from "../../words/words.ts";

type LetIn = NonNullable<Answers["pairing.list"]["admitted"]>[number];
type Linked = Answers["owners.list"]["linked"][number];
type Owner = Answers["owners.list"]["owners"][number];

interface ReadPeople {
  readonly admitted: readonly LetIn[];
  readonly owners: readonly Owner[];
  readonly linked: readonly Linked[];
}

/** The people of the channels: who waits, who was let in, and who is an owner. */
export function PeopleView({ state, chat }: ViewProps): VNode {
  const { people, problem, act } = usePeople(state, chat);
  const { pairings, owners = [] } = state.people;
  const hasOwners = state.people.owners !== undefined && state.hello?.methods.includes("owners.add") === true;
  const shown = people?.admitted.flatMap((person) => entriesOf(person, owners));
  const others = people?.owners.filter(({ entry }) => shown?.includes(entry) !== true) ?? [];
  return (
    <ViewFrame problems={problem === "" ? [] : [problem]} isRead={people !== undefined}>
      {hasOwners && owners.length === 0 && (
        <p class="panel-text">
          {t(
            "Nobody is an owner yet: in the channels everybody is a guest, you too. Only an owner may approve commands from a channel.",
          )}
        </p>
      )}
      {hasOwners && people?.linked.map((one) => <LinkedAccount key={one.senderId} linked={one} act={act} />)}
      <Group title={t("Waiting")} empty={<HowToWait chat={chat} />}>
        {pairings.map((pairing) => (
          <Waiting key={`${pairing.channel}:${pairing.code}`} pairing={pairing} chat={chat} hasOwners={hasOwners} />
        ))}
      </Group>
      <Group title={t("People let in")} empty={<p class="hint">{t("Nobody yet.")}</p>}>
        {people?.admitted.map((person) => (
          <Admitted
            key={`${person.channel}:${person.account}:${person.senderId}`}
            person={person}
            ownerBy={entriesOf(person, owners)}
            isElsewhere={people.admitted.some((other) => other !== person && isSamePerson(other, person))}
            hasOwners={hasOwners}
            act={act}
          />
        ))}
      </Group>
      {hasOwners && others.length > 0 && (
        <Group title={t("Other owners")} empty={null}>
          {others.map((owner) => (
            <OwnerRow key={owner.entry} owner={owner} act={act} />
          ))}
        </Group>
      )}
    </ViewFrame>
  );
}

const isSamePerson = (one: LetIn, other: LetIn): boolean =>
  one.channel === other.channel && one.senderId === other.senderId;

/** The entries in the config that make somebody an owner. */
const entriesOf = ({ channel, senderId }: LetIn, owners: readonly string[]): readonly string[] =>
  owners.filter((entry) => entry === `${channel}:${senderId}` || entry === senderId);

type Wish = readonly [
  method: "owners.add" | "owners.remove" | "pairing.revoke",
  params: Readonly<Record<string, unknown>>,
];
/** Makes requests one after the other up to the first that fails, then reads the people again. */
type Act = (...wishes: readonly Wish[]) => void;

function usePeople(state: PageState, chat: Chat) {
  const [people, setPeople] = useState<ReadPeople>();
  const [problem, setProblem] = useState("");
  const read = useCallback(async (): Promise<void> => {
    try {
      const { admitted = [] } = await chat.ask("pairing.list", {});
      const { owners, linked } = await chat.ask("owners.list", {});
      setPeople({ admitted, owners, linked });
    } catch (error) {
      setProblem(problemOf(error).message);
    }
  }, [chat]);
  useEffect(() => void read(), [read, state.people.pairings, state.people.owners]);
  const act: Act = (...wishes) => {
    setProblem("");
    const all = async (): Promise<void> => {
      try {
        for (const [method, params] of wishes) await chat.ask(method, params);
      } catch (error) {
        setProblem(problemOf(error).message);
      }
      await read();
      chat.peopleChanged();
    };
    void all();
  };
  return { people, problem, act };
}

function Group(props: { title: string; empty: VNode | null; children: ComponentChildren }): VNode {
  const { title, empty, children } = props;
  const isEmpty = !Array.isArray(children) || children.length === 0;
  return (
    <section aria-label={title} class="people-group">
      <h2>{title}</h2>
      {isEmpty ? empty : <ul>{children}</ul>}
    </section>
  );
}

function HowToWait({ chat }: { readonly chat: Chat }): VNode {
  return (
    <p class="hint">
      {t(
        "Nobody. Who writes to a channel for the first time gets a code, and appears here: compare the codes. Write from your own account to let yourself in.",
      )}{" "}
      <button type="button" class="link" onClick={() => chat.visit("channels")}>
        {t("Show the channels")}
      </button>
    </p>
  );
}

function PersonOn({ name, channel, senderId }: { name: string; channel: string; senderId: string }): VNode {
  const person = (
    <strong>
      <bdi>{name}</bdi>
    </strong>
  );
  return <>{rich("{person} on {channel}, id {id}", { person, channel, id: senderId })}</>;
}

interface WaitingProps {
  readonly pairing: Pairing;
  readonly chat: Chat;
  readonly hasOwners: boolean;
}

function Waiting({ pairing, chat, hasOwners }: WaitingProps): VNode {
  const { name, channel, senderId, code } = pairing;
  return (
    <li class="channel" aria-label={name}>
      <p>
        <PersonOn name={name} channel={channel} senderId={senderId} />
      </p>
      <p class="channel-facts">{rich("code {code}", { code: <code>{code}</code> })}</p>
      <p class="channel-actions">
        <button type="button" class="primary" onClick={() => chat.admit(pairing)}>
          {t("Let in")}
        </button>
        {hasOwners && (
          <button type="button" class="quiet" onClick={() => chat.admit(pairing, true)}>
            {t("Let in as owner")}
          </button>
        )}
        <button type="button" class="quiet danger" onClick={() => chat.refuse(pairing)}>
          {t("Refuse")}
        </button>
      </p>
    </li>
  );
}

interface AdmittedProps {
  readonly person: LetIn;
  /** The entries that make the person an owner. */
  readonly ownerBy: readonly string[];
  /** Whether another account of the channel lets the person in too. */
  readonly isElsewhere: boolean;
  readonly hasOwners: boolean;
  readonly act: Act;
}

function Admitted({ person, ownerBy, isElsewhere, hasOwners, act }: AdmittedProps): VNode {
  const { channel, account, senderId, at } = person;
  const name = shortNameIn(person.name) ?? senderId;
  // Who may not write any more has no say over commands either.
  const isOwner = ownerBy.length > 0;
  const noOwner = ownerBy.map((entry): Wish => ["owners.remove", { entry }]);
  const putOut: readonly Wish[] = [
    ["pairing.revoke", { channel, senderId, accountId: account }],
    ...(isElsewhere ? [] : noOwner),
  ];
  return (
    <li class="channel" aria-label={name}>
      <p>
        <PersonOn name={name} channel={channel} senderId={senderId} />{" "}
        {isOwner && <span class="tag">{t("owner")}</span>}
      </p>
      <p class="channel-facts">
        {factLine([
          account === "default" ? undefined : t("account {account}", { account }),
          t("let in on {date}", { date: dayText(at) }),
        ])}
      </p>
      <p class="channel-actions">
        {hasOwners && (
          <button
            type="button"
            class="quiet"
            onClick={() => (isOwner ? act(...noOwner) : act(["owners.add", { channel, senderId }]))}
          >
            {isOwner ? t("No longer an owner") : t("Make owner")}
          </button>
        )}
        <button type="button" class="quiet danger" onClick={() => act(...putOut)}>
          {t("Put out")}
        </button>
      </p>
    </li>
  );
}

function OwnerRow({ owner, act }: { readonly owner: Owner; readonly act: Act }): VNode {
  const { entry, channel, senderId } = owner;
  return (
    <li class="channel" aria-label={entry}>
      <p>
        {senderId} {channel === undefined ? t("on every channel") : t("on {channel}", { channel })}
      </p>
      <p class="channel-actions">
        <button type="button" class="quiet danger" onClick={() => act(["owners.remove", { entry }])}>
          {t("No longer an owner")}
        </button>
      </p>
    </li>
  );
}

/** A linked account belongs to the person who linked it. */
function LinkedAccount({ linked, act }: { readonly linked: Linked; readonly act: Act }): VNode {
  const { channel, channelLabel, senderId, name } = linked;
  return (
    <p class="panel-text">
      {rich("{channel} is linked to {person} ({id}).", {
        channel: channelLabel,
        person: <bdi>{shortNameIn(name) ?? senderId}</bdi>,
        id: senderId,
      })}{" "}
      <button type="button" class="quiet" onClick={() => act(["owners.add", { channel, senderId }])}>
        {t("That is me: make it an owner")}
      </button>
    </p>
  );
}
