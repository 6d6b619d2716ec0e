import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { groupPatch, type HeardGroups, type NamedGroup } from "../../channels/groups.ts";

interface GroupsProps {
  readonly groups: HeardGroups;
  readonly label: string;
  /** Writes a patch of the config; `done` says what it did. */
  readonly patch: (patch: unknown, done: string) => void;
}

const POLICIES: Readonly<Record<string, string>> = {
  allowlist: "It hears only the groups that are named here.",
  open: "It hears every group, but those that are kept out here.",
  disabled: "It hears no group.",
};

/** The groups that an account hears, and lets in or out. */
export function Groups({ groups, label, patch }: GroupsProps): VNode {
  const { policy, named, place } = groups;
  const [id, setId] = useState("");
  const field = useId();
  const add = (isHeard: boolean): void => {
    if (id.trim() === "") return;
    patch(groupPatch([...place, id.trim()], isHeard), `${id.trim()} is ${isHeard ? "let in" : "kept out"}.`);
    setId("");
  };
  return (
    <details class="channel-capabilities">
      <summary>Groups ({named.filter(({ isHeard }) => isHeard).length} named)</summary>
      <p>{POLICIES[policy] ?? policy} The key groupPolicy of the config says so.</p>
      <ul>
        {named.map((group) => (
          <GroupRow key={group.path.join(".")} group={group} patch={patch} />
        ))}
      </ul>
      <form
        class="channel-test"
        aria-label={`A group of ${label}`}
        onSubmit={(event) => (event.preventDefault(), add(policy !== "open"))}
      >
        <label class="unseen" for={field}>
          Id of a group
        </label>
        <input
          id={field}
          value={id}
          placeholder="id of a group, as the platform names it"
          autocomplete="off"
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <button type="submit" class="quiet">
          {policy === "open" ? "Keep out" : "Let in"}
        </button>
      </form>
    </details>
  );
}

function GroupRow({ group, patch }: { readonly group: NamedGroup; readonly patch: GroupsProps["patch"] }): VNode {
  const { id, isHeard, path } = group;
  const name = id === "*" ? "All others" : id;
  return (
    <li class="channel-actions">
      <span>
        <bdi>{name}</bdi>: {isHeard ? "heard" : "not heard"}
      </span>
      <button
        type="button"
        class={isHeard ? "quiet danger" : "quiet"}
        aria-label={`${isHeard ? "Keep out" : "Let in"} ${name}`}
        onClick={() => patch(groupPatch(path, !isHeard), `${name} is ${isHeard ? "kept out" : "let in"}.`)}
      >
        {isHeard ? "Keep out" : "Let in"}
      </button>
    </li>
  );
}
