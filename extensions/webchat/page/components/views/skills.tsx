import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ownText, stringOr } from "../../model/json.ts";
import { Field } from "../common/fields.tsx";
import { useNow } from "../common/hooks.ts";
import {
  type ViewActs,
  ActButton,
  AgentPick,
  TerminalCommand,
  ListRow,
  mayAsk,
  RowList,
  RowText,
  SearchForm,
  SureButton,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
  when,
} from "./view-parts.tsx";
import { t } from "../../words/words.ts";

type Skill = Answers["skills.status"]["skills"][number];
type Found = Answers["skills.search"]["results"][number];

const GROUPS: readonly (readonly [title: string, isIn: (skill: Skill) => boolean])[] = [
  [t("In use"), ({ eligible }) => eligible],
  [t("Lack something"), ({ eligible, disabled }) => !eligible && !disabled],
  [t("Switched off"), ({ eligible, disabled }) => !eligible && disabled],
];

/** The skills of an agent: the purpose of each, what it lacks, its keys and its switch, and skills of the registry. */
export function SkillsView(props: ViewProps): VNode {
  const { agents } = props.state.catalog;
  const [agentId, setAgent] = useState("");
  const [words, setWords] = useState("");
  const skills = useAnswer(props, {
    method: "skills.status",
    params: agentId === "" ? {} : { agentId },
    changedBy: ["config.changed"],
    isReadOnReturn: true,
  });
  const acting = useActing(skills.again);
  const all = skills.answer?.skills ?? [];
  const shown = all.filter((skill) => hasWords(skill, words.toLowerCase()));
  return (
    <ViewFrame
      tools={
        <>
          <input
            type="search"
            aria-label={t("Words of a skill")}
            placeholder={t("Words of a skill")}
            onInput={(event) => setWords(event.currentTarget.value.trim())}
          />
          <AgentPick agents={agents} value={agentId} none={t("The default agent")} choose={setAgent} />
        </>
      }
      problems={[skills.problem, acting.problem]}
      isRead={skills.answer !== undefined}
    >
      {shown.length === 0 && (
        <p class="hint">{all.length === 0 ? t("The agent has no skills.") : t("No skill has these words.")}</p>
      )}
      {GROUPS.map(([title, isIn]) => (
        <RowList key={title} title={title}>
          {shown.filter(isIn).map((skill) => (
            <SkillRow key={skill.name} skill={skill} view={props} acting={acting} />
          ))}
        </RowList>
      ))}
      {mayAsk(props, "skills.search") && <MoreSkills view={props} have={all} />}
    </ViewFrame>
  );
}

const hasWords = ({ name, description }: Skill, words: string): boolean =>
  `${name} ${description}`.toLowerCase().includes(words);

interface SkillProps {
  readonly skill: Skill;
  readonly view: ViewProps;
  readonly acting: ViewActs;
}

function SkillRow({ skill, view, acting }: SkillProps): VNode {
  const { name, emoji, description, source, disabled, skillKey, install } = skill;
  const lacks = lackOf(skill);
  const label = disabled ? t("Switch on") : t("Switch off");
  return (
    <ListRow
      name={name}
      title={emoji === undefined ? name : `${emoji} ${name}`}
      facts={[ownText(SOURCES, source) ?? source]}
      error={lacks}
      actions={
        mayAsk(view, "skills.update") && (
          <ActButton
            label={label}
            name={`${label}: ${name}`}
            isDisabled={acting.isBusy}
            act={() => acting.act(() => view.chat.ask("skills.update", { skillKey, enabled: disabled }))}
          />
        )
      }
    >
      <RowText text={description} />
      {lacks !== undefined &&
        install.map(({ id, label: way, command }) => (
          <div key={id}>
            {way !== command && <RowText text={way} />}
            {command !== undefined && <TerminalCommand command={command} />}
          </div>
        ))}
      {mayAsk(view, "skills.update") && variablesOf(skill).length > 0 && (
        <Keys skill={skill} view={view} acting={acting} />
      )}
    </ListRow>
  );
}

const SOURCES: Readonly<Record<string, string>> = {
  "openclaw-bundled": t("comes with the gateway"),
  "openclaw-managed": t("installed"),
  "openclaw-workspace": t("of the workspace"),
  "openclaw-plugin": t("of a plugin"),
  "openclaw-extra": t("of a folder of the config"),
};

/** Why the agent does not use a skill that is switched on; undefined when it does. */
function lackOf(skill: Skill): string | undefined {
  const { eligible, disabled, missing, blockedByAllowlist, blockedByAgentFilter, platformIncompatible } = skill;
  if (eligible || disabled) return undefined;
  const words = [
    ...(missing.bins.length > 0 ? [t("programs: {bins}", { bins: missing.bins.join(", ") })] : []),
    ...(missing.anyBins.length > 0
      ? [t("one of the programs {anyBins}", { anyBins: missing.anyBins.join(", ") })]
      : []),
    ...(missing.env.length > 0 ? [t("keys: {env}", { env: missing.env.join(", ") })] : []),
    ...(missing.config.length > 0
      ? [t("settings of the config: {config}", { config: missing.config.join(", ") })]
      : []),
  ];
  if (platformIncompatible) return t("It is for another operating system.");
  if (words.length > 0) return t("It lacks {words}.", { words: words.join("; ") });
  if (blockedByAllowlist) return t("Add it to skills.allowBundled of the config, which names others only.");
  if (blockedByAgentFilter) return t("Add it to the skills of this agent in the config, which name others only.");
  return t("It cannot be used: openclaw skills check says more.");
}

/** The variables that a person can set for a skill. */
const variablesOf = ({ primaryEnv, requirements }: Skill): readonly string[] => [
  ...new Set([...(primaryEnv === undefined ? [] : [primaryEnv]), ...requirements.env]),
];

/** The parameters that set variables; an empty text removes one. */
const keyParams = ({ skillKey, primaryEnv }: Skill, values: readonly (readonly [string, string])[]) => ({
  skillKey,
  ...Object.fromEntries(values.flatMap(([name, value]) => (name === primaryEnv ? [["apiKey", value]] : []))),
  env: Object.fromEntries(values.filter(([name]) => name !== primaryEnv)),
});

/** The form for the keys of a skill. Stored values are not shown. */
function Keys({ skill, view, acting }: SkillProps): VNode {
  const [isOpened, setOpened] = useState(false);
  const variables = variablesOf(skill);
  const write = (values: readonly (readonly [string, string])[]): void =>
    acting.act(async () => {
      await view.chat.ask("skills.update", keyParams(skill, values));
      setOpened(false);
    });
  return (
    <>
      <button type="button" class="link" aria-expanded={isOpened} onClick={() => setOpened(!isOpened)}>
        {t("Keys of {name}", { name: skill.name })}
      </button>
      {isOpened && (
        <form
          class="channel-form"
          aria-label={t("Keys of {name}", { name: skill.name })}
          onSubmit={(event) => {
            event.preventDefault();
            const given = new FormData(event.currentTarget);
            const values = variables.map((name) => [name, stringOr(given.get(name)).trim()] as const);
            write(values.filter(([, value]) => value !== ""));
          }}
        >
          {variables.map((name) => (
            <Field
              key={name}
              name={name}
              label={name}
              secret
              hint={
                skill.missing.env.includes(name) ? t("It is missing.") : t("Leave it empty to keep what is stored.")
              }
            />
          ))}
          <p class="channel-actions">
            <button type="submit" class="primary" disabled={acting.isBusy}>
              {t("Save")}
            </button>
            {variables.some((name) => !skill.missing.env.includes(name)) && (
              <SureButton
                label={t("Remove what is stored")}
                sure={t("Remove the stored keys")}
                act={() => write(variables.map((name) => [name, ""] as const))}
              />
            )}
          </p>
        </form>
      )}
    </>
  );
}

interface Search {
  readonly isBusy: boolean;
  readonly results?: readonly Found[];
  readonly problem?: string;
}

/** A search in the registry of skills. A person installs one at a terminal, which shows what it holds before. */
function MoreSkills({ view, have }: { readonly view: ViewProps; readonly have: readonly Skill[] }): VNode {
  const [{ isBusy, results, problem }, setSearch] = useState<Search>({ isBusy: false });
  const search = (query: string): void => {
    setSearch({ isBusy: true });
    view.chat.ask("skills.search", { query, limit: 20 }).then(
      (answer) => setSearch({ isBusy: false, results: answer.results }),
      (error: unknown) => setSearch({ isBusy: false, problem: error instanceof Error ? error.message : String(error) }),
    );
  };
  return (
    <section aria-label={t("More skills")}>
      <h2>{t("More skills")}</h2>
      <SearchForm
        label={t("Search the registry")}
        placeholder={t("A task, such as calendar")}
        isBusy={isBusy}
        search={search}
      />
      <p class="hint" role="status">
        {isBusy
          ? t("Asking the registry…")
          : t("The command shows what a skill holds, and asks before it installs it.")}
      </p>
      {problem !== undefined && (
        <p class="outcome error" role="alert">
          {problem}
        </p>
      )}
      {results && (
        <RowList title={t("Found")} empty={t("The registry has none for these words.")}>
          {results.map((found) => (
            <FoundSkill key={found.installRef} found={found} isThere={have.some(({ name }) => name === found.slug)} />
          ))}
        </RowList>
      )}
    </section>
  );
}

function FoundSkill({ found, isThere }: { readonly found: Found; readonly isThere: boolean }): VNode {
  const now = useNow(60_000);
  return (
    <ListRow
      title={found.displayName}
      facts={[
        found.ownerHandle === undefined ? undefined : t("by {owner}", { owner: found.ownerHandle }),
        found.updatedAt === undefined ? undefined : when(found.updatedAt, now),
        isThere ? t("a skill of this name is there") : undefined,
      ]}
    >
      {found.summary !== undefined && <RowText text={found.summary} />}
      <TerminalCommand command="openclaw skills install" words={[found.installRef]} />
    </ListRow>
  );
}
