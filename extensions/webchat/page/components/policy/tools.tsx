import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import {
  askAbout,
  groupMembers,
  NOBODY_KNOWN,
  partiesOf,
  PARTY_KINDS,
  type KnownPeople,
  type Party,
  type PartyKind,
} from "../../policy/parties.ts";
import { judgedTools, type JudgedTool, type ToolOutcome } from "../../policy/verdicts.ts";
import { AgentPick, mayAsk, Pick, RowList, useAnswer, ViewFrame, type ViewProps } from "../views/view-parts.tsx";
import { CommandRules } from "./commands.tsx";
import { CommandQuestion } from "./command-question.tsx";
import { SourceOf, ToolRow } from "./tool-row.tsx";
import { rich } from "../../words/rich.ts";
import { t } from "../../words/words.ts";

const CHANGED = { changedBy: ["config.changed", "plugins.changed", "sessions.changed"], isReadOnReturn: true };

/** Which tools an agent has for a person, a group or a conversation, and the key of the config that says so. */
export function ToolsView(view: ViewProps): VNode {
  const { agents } = view.state.catalog;
  const [agentId, setAgent] = useState("");
  const [model, setModel] = useState("");
  const parties = useParties(view);
  const chosen = useParty(parties);
  const ofAgent = agentId === "" ? {} : { agentId };
  const params = { ...ofAgent, ...chosen.ask, ...(model !== "" && { model }) };
  const catalog = useAnswer(view, { method: "tools.catalog", params: ofAgent, ...CHANGED });
  const explained = useAnswer(view, { method: "policy.explain", params, ...CHANGED });
  const { answer } = explained;
  return (
    <ViewFrame
      tools={
        <>
          <AgentPick agents={agents} value={agentId} none={t("The default agent")} choose={setAgent} />
          <PartyPick parties={parties} chosen={chosen} />
          {(model !== "" || answer?.withoutModel === true) && <ModelPick view={view} model={model} choose={setModel} />}
        </>
      }
      problems={[catalog.problem, explained.problem]}
      isRead={catalog.answer !== undefined && answer !== undefined}
    >
      {answer && catalog.answer && (
        <>
          <About explained={answer} party={chosen.party} view={view} />
          <CommandQuestion key={JSON.stringify(params)} view={view} params={params} who={chosen.name} />
          <CommandRules view={view} explained={answer} changed={explained.again} />
          <ToolList tools={judgedTools(catalog.answer, answer)} view={view} />
        </>
      )}
    </ViewFrame>
  );
}

/** People and chats, as far as this client may read them. */
function useParties(view: ViewProps): readonly Party[] {
  const { state, chat } = view;
  const [known, setKnown] = useState<KnownPeople>(NOBODY_KNOWN);
  const isConnected = state.link.state === "connected";
  const read = useCallback(() => {
    const learn = (found: Promise<Partial<KnownPeople>>): void =>
      // What cannot be read is not offered; the verdicts themselves do not need it.
      void found.then((more) => setKnown((before) => ({ ...before, ...more }))).catch(() => undefined);
    if (mayAsk(view, "pairing.list")) learn(chat.ask("pairing.list", {}).then(({ admitted = [] }) => ({ admitted })));
    if (mayAsk(view, "owners.list")) learn(chat.ask("owners.list", {}).then(({ owners }) => ({ owners })));
    if (mayAsk(view, "config.get")) learn(chat.ask("config.get", {}).then(({ parsed: config }) => ({ config })));
    learn(chat.ask("status", {}).then(({ channels = [] }) => ({ accounts: channels })));
  }, [chat, state.hello]);
  useEffect(() => {
    if (!isConnected) return undefined;
    read();
    return chat.listen(["config.changed", "pairing.resolved"], read);
  }, [chat, isConnected, read]);
  return useMemo(() => partiesOf(known, state.sessions), [known, state.sessions]);
}

interface ChosenParty {
  readonly party: Party | undefined;
  readonly members: readonly Party[];
  readonly memberId: string;
  readonly ask: Party["ask"];
  /** For a sentence. */
  readonly name: string;
  readonly choose: (id: string) => void;
  readonly chooseMember: (id: string) => void;
}

function useParty(parties: readonly Party[]): ChosenParty {
  const [id, choose] = useState("you");
  const [memberId, chooseMember] = useState("");
  const party = parties.find((one) => one.id === id) ?? parties[0];
  const members = party?.groupOn === undefined ? [] : groupMembers(party, parties);
  const member = members.find((one) => one.id === memberId);
  return {
    party,
    members,
    memberId: member?.id ?? "",
    ask: party ? askAbout(party, member) : {},
    name: party?.kind === "you" ? t("you") : t("“{name}”", { name: member?.label ?? party?.label ?? "" }),
    choose,
    chooseMember,
  };
}

const KINDS: Readonly<Record<Exclude<PartyKind, "you">, string>> = {
  people: t("People"),
  groups: t("Groups"),
  conversations: t("Your conversations"),
  channels: t("Channels"),
};

function PartyPick({ parties, chosen }: { readonly parties: readonly Party[]; readonly chosen: ChosenParty }): VNode {
  const { party, members, memberId, choose, chooseMember } = chosen;
  const option = ({ id, label }: Party): VNode => (
    <option key={id} value={id}>
      {label}
    </option>
  );
  return (
    <>
      <select
        aria-label={t("For whom")}
        value={party?.id ?? ""}
        onChange={(event) => (chooseMember(""), choose(event.currentTarget.value))}
      >
        {PARTY_KINDS.map((kind) => {
          const own = parties.filter((one) => one.kind === kind).map(option);
          if (kind === "you" || own.length === 0) return own;
          return (
            <optgroup key={kind} label={KINDS[kind]}>
              {own}
            </optgroup>
          );
        })}
      </select>
      {party?.groupOn !== undefined && (
        <Pick
          label={t("Who writes in the group")}
          value={memberId}
          options={[["", t("Anybody else in it")], ...members.map(({ id, label }) => [id, label] as const)]}
          choose={chooseMember}
        />
      )}
    </>
  );
}

interface ModelPickProps {
  readonly view: ViewProps;
  readonly model: string;
  readonly choose: (model: string) => void;
}

/** Some rules hold for one model or provider alone. */
function ModelPick({ view, model, choose }: ModelPickProps): VNode {
  const names = view.state.catalog.models.map(({ provider, id }) => `${provider}/${id}`);
  const options = [["", t("Without rules about models")], ...names.map((name) => [name, name] as const)] as const;
  return <Pick label={t("For which model")} value={model} options={options} choose={choose} />;
}

interface AboutProps {
  readonly explained: Parameters<typeof judgedTools>[1];
  readonly party: Party | undefined;
  readonly view: ViewProps;
}

/** The rights of the party as a whole. */
function About({ explained, party, view }: AboutProps): VNode {
  const { owner, sandbox, leftOut } = explained;
  return (
    <>
      <p class="view-sum">{owner ? t("This turn has an owner's rights.") : t("This turn has a guest's rights.")}</p>
      <p class="hint">
        {insideText(sandbox)}{" "}
        {party?.kind !== "you" &&
          !owner &&
          rich("Owners are in {key}.", {
            key: <SourceOf source={{ key: "commands.ownerAllowFrom" }} view={view} />,
          })}{" "}
        {rich("After untrusted content, such as a web page, a person is asked about risky calls: {key}.", {
          key: <SourceOf source={{ key: "tools.untrusted.confirm" }} view={view} />,
        })}
      </p>
      {leftOut.length > 0 && (
        <p class="hint">
          {t("Rules by a name that is not known here are left out: {names}.", { names: leftOut.join(", ") })}
        </p>
      )}
    </>
  );
}

function insideText({ commands, files }: AboutProps["explained"]["sandbox"]): string {
  if (commands && files) return t("A sandbox confines the commands and files.");
  if (commands) return t("A sandbox confines the commands.");
  return files ? t("A sandbox confines the files.") : t("Tools work on the machine itself.");
}

const OUTCOMES: readonly (readonly [ToolOutcome | "all", string])[] = [
  ["all", t("All tools")],
  ["allowed", t("Allowed")],
  ["asks", t("Asks first")],
  ["refused", t("Refused")],
];

function ToolList({ tools, view }: { readonly tools: readonly JudgedTool[]; readonly view: ViewProps }): VNode {
  const [words, setWords] = useState("");
  const [outcome, setOutcome] = useState<ToolOutcome | "all">("all");
  const wanted = words.trim().toLowerCase();
  const shown = tools.filter(
    (tool) => (outcome === "all" || tool.outcome === outcome) && searched(tool).includes(wanted),
  );
  return (
    <section aria-label={t("Tools")}>
      <h2>
        {t("{shown} of {all} tools", {
          shown: tools.filter((tool) => tool.outcome !== "refused").length,
          all: tools.length,
        })}
      </h2>
      <div class="view-tools">
        <input
          type="search"
          aria-label={t("Words of a tool")}
          placeholder={t("Words of a tool")}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <Pick label={t("Which tools")} value={outcome} options={OUTCOMES} choose={setOutcome} />
      </div>
      {shown.length === 0 && <p class="hint">{t("No tool fits.")}</p>}
      {[...new Set(shown.map(({ group }) => group))].map((group) => (
        <RowList key={group} title={group}>
          {shown
            .filter((tool) => tool.group === group)
            .map((tool) => (
              <ToolRow key={tool.id} tool={tool} view={view} />
            ))}
        </RowList>
      ))}
    </section>
  );
}

const searched = ({ id, label, about, from = "", key = "", why }: JudgedTool): string =>
  [id, label, about, from, key, why].join(" ").toLowerCase();
