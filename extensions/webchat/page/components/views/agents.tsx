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
            New agent
          </button>
        )
      }
      problems={[agents.problem]}
      isRead={agents.answer !== undefined}
    >
      {isAdding && <AgentForm view={props} done={() => (setAdding(false), agents.again())} />}
      {deleted && <DeletedNote deleted={deleted} />}
      <RowList title="Agents" empty="There is no agent.">
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
    stringOr(match["channel"], "any channel"),
    match["accountId"] === "*" ? "every account" : named("account", match["accountId"]),
    named(stringOr(peer["kind"], "chat"), peer["id"]),
    named("server", match["guildId"]),
    named("team", match["teamId"]),
    roles.length > 0 ? `roles ${roles.join(", ")}` : undefined,
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
        isDefault ? "the default agent" : undefined,
        model.primary ?? "no model",
        model.fallbacks && `then ${model.fallbacks.join(", ")}`,
        workspace,
      ]}
      actions={
        <>
          <ActButton label="Chat" name={`Chat with ${name}`} act={() => view.chat.startNew(id)} />
          {mayAsk(view, "agents.update") && (
            <ActButton label="Change" name={`Change ${name}`} act={() => toggle("form")} />
          )}
          {mayAsk(view, "agents.delete") && !isDefault && (
            <ActButton label="Delete" name={`Delete ${name}`} kind="quiet danger" act={() => toggle("delete")} />
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
        aria-label={`Files of ${name}`}
        onClick={() => toggle("files")}
      >
        Files
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

/** The chats that the agent answers. */
function Answered(props: { id: string; isDefault: boolean; bindings: readonly string[] }): VNode {
  const { id, isDefault, bindings } = props;
  if (bindings.length > 0 || isDefault)
    return (
      <p class="view-row-text">
        Answers {[...bindings, ...(isDefault ? ["every chat that no other agent is bound to"] : [])].join("; ")}.
      </p>
    );
  return (
    <>
      <p class="view-row-text">No chat is bound to it: it answers here alone. Bind a channel, or an account of one:</p>
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
      else {
        const params = {
          ...(text("name") !== name && text("name") !== "" && { name: text("name") }),
          ...(text("emoji") !== emoji && { emoji: text("emoji") }),
          ...(model !== primary && { model: model === "" ? null : model }),
        };
        if (Object.keys(params).length > 0) await view.chat.ask("agents.update", { agentId: agent.id, ...params });
      }
      done();
    });
  };
  return (
    <form
      ref={form}
      class="channel-form"
      aria-label={agent === undefined ? "New agent" : `Change ${name}`}
      onSubmit={(event) => (event.preventDefault(), save(new FormData(event.currentTarget)))}
    >
      <Field name="name" label="Name" value={name} hint={agent === undefined ? "Its id is made from it." : undefined} />
      <Field name="emoji" label="Sign" value={emoji} hint="An emoji, or empty." />
      <Choice
        label="Model"
        name="model"
        value={model}
        options={[["", "The model of all agents"], ...known.map((one) => [one, one] as const)]}
        choose={setModel}
      />
      {agent === undefined && (
        <Field name="workspace" label="Workspace" hint="A folder of the machine; one of its own when empty." />
      )}
      {acting.problem !== undefined && (
        <p class="field-problem" role="alert">
          {acting.problem}
        </p>
      )}
      <p class="channel-actions">
        <button type="submit" class="primary" disabled={acting.isBusy}>
          {agent === undefined ? "Make the agent" : "Save"}
        </button>
        <ActButton label="Cancel" act={done} />
      </p>
    </form>
  );
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
      aria-label={`Delete ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        acting.act(async () => done(await view.chat.ask("agents.delete", { agentId: id, deleteFiles })));
      }}
    >
      <p>
        Its scheduled jobs and its bindings go, and the default agent answers its chats. Its conversations stay where
        they are.
      </p>
      <label class="tick">
        <input
          type="checkbox"
          checked={deleteFiles}
          onChange={({ currentTarget }) => setDeleteFiles(currentTarget.checked)}
        />
        Move its workspace {workspace} and its keys to the trash of the state directory
      </label>
      {acting.problem !== undefined && (
        <p class="field-problem" role="alert">
          {acting.problem}
        </p>
      )}
      <p class="channel-actions">
        <button type="submit" class="quiet danger" disabled={acting.isBusy}>
          Delete {name}
        </button>
        <ActButton label="Keep" act={() => done()} />
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
      {agentId} is deleted.
      {trashed.length > 0 && ` In the trash: ${trashed.join(", ")}.`}
      {failed.map(({ path, reason }) => ` ${path} stays: ${reason}.`)}
    </p>
  );
}
