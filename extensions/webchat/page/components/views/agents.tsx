import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { fields, list, nonEmpty, shortNameIn, stringOr, strings } from "../../model/json.ts";
import { isAvailable } from "../../model/protocol.ts";
import { Choice, Field } from "../common/fields.tsx";
import { useFocus } from "../common/hooks.ts";
import { AgentFiles, hasUnsaved } from "./agent-files.tsx";
import {
  ActButton,
  ListRow,
  mayAsk,
  RowList,
  TerminalCommand,
  useActing,
  useAnswer,
  ViewFrame,
  type ViewProps,
} from "./view-parts.tsx";
import { t } from "../../words/words.ts";

type Agent = Answers["agents.list"]["agents"][number];
type Deleted = Answers["agents.delete"];

const CHANGED = { changedBy: ["config.changed"] };

/** The agents: each with its identity, model, workspace, chats and files. */
export function AgentsView(props: ViewProps): VNode {
  const agents = useAnswer(props, { method: "agents.list", ...CHANGED });
  const config = useAnswer(props, { method: "config.get", ...CHANGED });
  const [isAdding, setAdding] = useState(false);
  const [deleted, setDeleted] = useState<Deleted>();
  const { agents: all = [], defaultId } = agents.answer ?? {};
  const bindings = bindingsIn(config.answer?.config);
  return (
    <ViewFrame
      tools={
        mayAsk(props, "agents.create") && (
          <button type="button" class="quiet" aria-expanded={isAdding} onClick={() => setAdding(!isAdding)}>
            {t("New agent")}
          </button>
        )
      }
      problems={[agents.problem]}
      isRead={agents.answer !== undefined}
    >
      {isAdding && <AgentForm view={props} done={() => (setAdding(false), agents.again())} />}
      {deleted && <DeletedNote deleted={deleted} />}
      <RowList title={t("Agents")} empty={t("There is no agent.")}>
        {all.map((agent) => (
          <AgentRow
            key={agent.id}
            view={props}
            agent={agent}
            isDefault={agent.id === defaultId}
            bindings={bindings.flatMap(({ agentId, text }) => (agentId === agent.id ? [text] : []))}
            changed={agents.again}
            deleted={setDeleted}
          />
        ))}
      </RowList>
    </ViewFrame>
  );
}

interface Binding {
  readonly agentId: string;
  readonly text: string;
}

/** The bindings of the config, as a person reads them. */
const bindingsIn = (config: unknown): readonly Binding[] =>
  list(fields(config)["bindings"]).map((one) => {
    const { agentId, match } = fields(one);
    return { agentId: stringOr(agentId), text: matchText(fields(match)) };
  });

function matchText(match: Record<string, unknown>): string {
  const peer = fields(match["peer"]);
  const named = (label: string, value: unknown): string | undefined =>
    nonEmpty(value) === undefined ? undefined : `${label} ${stringOr(value)}`;
  const roles = strings(match["roles"]);
  return [
    stringOr(match["channel"], t("any channel")),
    match["accountId"] === "*" ? t("every account") : named(t("account"), match["accountId"]),
    named(stringOr(peer["kind"], t("chat")), peer["id"]),
    named(t("server"), match["guildId"]),
    named(t("team"), match["teamId"]),
    roles.length > 0 ? t("roles {roles}", { roles: roles.join(", ") }) : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(", ");
}

interface AgentProps {
  readonly view: ViewProps;
  readonly agent: Agent;
  readonly isDefault: boolean;
  readonly bindings: readonly string[];
  readonly changed: () => void;
  readonly deleted: (answer: Deleted) => void;
}

type Part = "files" | "form" | "delete";

function AgentRow(props: AgentProps): VNode {
  const { view, agent, isDefault, bindings, changed } = props;
  const { id, workspace, model } = agent;
  const [part, setPart] = useState<Part | undefined>(() => (hasUnsaved(id) ? "files" : undefined));
  const identity = useAnswer(view, { method: "agent.identity.get", params: { agentId: id }, ...CHANGED });
  const name = shortNameIn(identity.answer?.name) ?? shortNameIn(agent.name) ?? id;
  const toggle = (one: Part): void => setPart(part === one ? undefined : one);
  return (
    <ListRow
      name={name}
      title={
        <>
          <Face identity={identity.answer} /> {name}
        </>
      }
      facts={[
        name === id ? undefined : id,
        isDefault ? t("the default agent") : undefined,
        model.primary ?? t("no model"),
        model.fallbacks && t("then {fallbacks}", { fallbacks: model.fallbacks.join(", ") }),
        workspace,
      ]}
      actions={
        <>
          <ActButton label={t("Chat")} name={t("Chat with {name}", { name })} act={() => view.chat.startNew(id)} />
          {mayAsk(view, "agents.update") && (
            <ActButton label={t("Change")} name={t("Change {name}", { name })} act={() => toggle("form")} />
          )}
          {mayAsk(view, "agents.delete") && !isDefault && (
            <ActButton
              label={t("Delete")}
              name={t("Delete {name}", { name })}
              kind="quiet danger"
              act={() => toggle("delete")}
            />
          )}
        </>
      }
    >
      <Answered id={id} isDefault={isDefault} bindings={bindings} />
      <OpenedForm part={part} {...props} name={name} done={() => (setPart(undefined), changed(), identity.again())} />
      <button
        type="button"
        class="link"
        aria-expanded={part === "files"}
        aria-label={t("Files of {name}", { name })}
        onClick={() => toggle("files")}
      >
        {t("Files")}
      </button>
      {part === "files" && <AgentFiles view={view} agentId={id} name={name} />}
    </ListRow>
  );
}

interface OpenedProps extends AgentProps {
  readonly part: Part | undefined;
  readonly name: string;
  readonly done: () => void;
}

function OpenedForm({ part, view, agent, name, deleted, done }: OpenedProps): VNode | null {
  if (part === "form") return <AgentForm view={view} agent={agent} name={name} done={done} />;
  if (part !== "delete") return null;
  return <DeleteForm view={view} agent={agent} name={name} done={(answer) => (answer && deleted(answer), done())} />;
}

/** The picture of an agent, where the gateway has it, else its sign. */
function Face({ identity }: { readonly identity: Answers["agent.identity.get"] | undefined }): VNode | null {
  const { avatar, emoji } = identity ?? {};
  if (avatar?.startsWith("data:image/") === true) return <img class="agent-face" src={avatar} alt="" />;
  return emoji === undefined ? null : <span aria-hidden="true">{shortNameIn(emoji)}</span>;
}

function answeredText(chats: string, isDefault: boolean): string {
  if (chats === "") return t("It answers every chat that no other agent is bound to.");
  return isDefault
    ? t("It answers {chats}, and every chat that no other agent is bound to.", { chats })
    : t("It answers {chats}.", { chats });
}

/** The chats that the agent answers. */
function Answered(props: { id: string; isDefault: boolean; bindings: readonly string[] }): VNode {
  const { id, isDefault, bindings } = props;
  const chats = bindings.join("; ");
  if (bindings.length > 0 || isDefault) return <p class="view-row-text">{answeredText(chats, isDefault)}</p>;
  return (
    <>
      <p class="view-row-text">
        {t("No chat is bound to it: it answers here alone. Bind a channel, or an account of one:")}
      </p>
      <TerminalCommand command={`openclaw agents bind --agent ${id} --bind telegram`} />
    </>
  );
}

interface FormProps {
  readonly view: ViewProps;
  /** Unset for a new agent. */
  readonly agent?: Agent;
  readonly name?: string;
  readonly done: () => void;
}

/** Makes an agent, or changes its name, sign and model. Only what differs is written. */
function AgentForm({ view, agent, name = "", done }: FormProps): VNode {
  const acting = useActing(() => undefined);
  const form = useRef<HTMLFormElement>(null);
  useFocus(form);
  const primary = agent?.model.primary ?? "";
  const [model, setModel] = useState(primary);
  const models = view.state.catalog.models.filter(isAvailable).map((one) => `${one.provider}/${one.id}`);
  const known = primary === "" || models.includes(primary) ? models : [primary, ...models];
  const emoji = agent?.identity?.emoji ?? "";
  const save = (given: FormData): void => {
    const text = (field: string): string => stringOr(given.get(field)).trim();
    acting.act(async () => {
      if (agent === undefined) await view.chat.ask("agents.create", createParams(text, model));
      else await update(view, updateParams(text, { agent, name, model }), agent.id);
      done();
    });
  };
  return (
    <form
      ref={form}
      class="channel-form"
      aria-label={agent === undefined ? t("New agent") : t("Change {name}", { name })}
      onSubmit={(event) => (event.preventDefault(), save(new FormData(event.currentTarget)))}
    >
      <Field
        name="name"
        label={t("Name")}
        value={name}
        hint={agent === undefined ? t("Its id is made from it.") : undefined}
      />
      <Field name="emoji" label={t("Sign")} value={emoji} hint={t("An emoji, or empty.")} />
      <Choice
        label={t("Model")}
        name="model"
        value={model}
        options={[["", t("The model of all agents")], ...known.map((one) => [one, one] as const)]}
        choose={setModel}
      />
      {agent === undefined && (
        <Field
          name="workspace"
          label={t("Workspace")}
          hint={t("A folder of the machine; one of its own when empty.")}
        />
      )}
      {acting.problem !== undefined && (
        <p class="field-problem" role="alert">
          {acting.problem}
        </p>
      )}
      <p class="channel-actions">
        <button type="submit" class="primary" disabled={acting.isBusy}>
          {agent === undefined ? t("Make the agent") : t("Save")}
        </button>
        <ActButton label={t("Cancel")} act={done} />
      </p>
    </form>
  );
}

async function update({ chat }: ViewProps, params: Record<string, unknown>, agentId: string): Promise<void> {
  if (Object.keys(params).length > 0) await chat.ask("agents.update", { ...params, agentId });
}

/** Only what differs. */
function updateParams(
  text: (field: string) => string,
  { agent, name, model }: { agent: Agent; name: string; model: string },
): Record<string, unknown> {
  return {
    ...(text("name") !== name && text("name") !== "" && { name: text("name") }),
    ...(text("emoji") !== (agent.identity?.emoji ?? "") && { emoji: text("emoji") }),
    ...(model !== (agent.model.primary ?? "") && { model: model === "" ? null : model }),
  };
}

const createParams = (text: (field: string) => string, model: string): Record<string, unknown> => ({
  name: text("name"),
  ...(text("emoji") !== "" && { emoji: text("emoji") }),
  ...(text("workspace") !== "" && { workspace: text("workspace") }),
  ...(model !== "" && { model }),
});

interface DeleteProps {
  readonly view: ViewProps;
  readonly agent: Agent;
  readonly name: string;
  readonly done: (answer?: Deleted) => void;
}

function DeleteForm({ view, agent: { id, workspace }, name, done }: DeleteProps): VNode {
  const acting = useActing(() => undefined);
  const [deleteFiles, setDeleteFiles] = useState(true);
  const form = useRef<HTMLFormElement>(null);
  useFocus(form);
  return (
    <form
      ref={form}
      class="channel-form"
      aria-label={t("Delete {name}", { name })}
      onSubmit={(event) => {
        event.preventDefault();
        acting.act(async () => done(await view.chat.ask("agents.delete", { agentId: id, deleteFiles })));
      }}
    >
      <p>
        {t(
          "Its scheduled jobs and its bindings go, and the default agent answers its chats. Its conversations stay where they are.",
        )}
      </p>
      <label class="tick">
        <input
          type="checkbox"
          checked={deleteFiles}
          onChange={({ currentTarget }) => setDeleteFiles(currentTarget.checked)}
        />
        {t("Move its workspace {workspace} and its keys to the trash of the state directory", { workspace })}
      </label>
      {acting.problem !== undefined && (
        <p class="field-problem" role="alert">
          {acting.problem}
        </p>
      )}
      <p class="channel-actions">
        <button type="submit" class="quiet danger" disabled={acting.isBusy}>
          {t("Delete {name}", { name })}
        </button>
        <ActButton label={t("Keep")} act={() => done()} />
      </p>
    </form>
  );
}

/** The outcome of a deletion: the folders that are in the trash, and those that stay. */
function DeletedNote({ deleted }: { readonly deleted: Deleted }): VNode {
  const { agentId, removed = [], failed = [] } = deleted;
  const trashed = removed.filter(({ method }) => method === "trash").map(({ path }) => path);
  return (
    <p class="outcome" role="status">
      {[
        t("{agent} is deleted.", { agent: agentId }),
        ...(trashed.length > 0 ? [t("In the trash: {folders}.", { folders: trashed.join(", ") })] : []),
        ...failed.map(({ path, reason }) => t("{folder} stays: {reason}.", { folder: path, reason })),
      ].join(" ")}
    </p>
  );
}
