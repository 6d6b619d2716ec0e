import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { groupPatch, type HeardGroups, type NamedGroup } from "../../channels/groups.ts";
import { ownText } from "../../model/json.ts";
import { t } from "../../words/words.ts";

interface GroupsProps {
  readonly groups: HeardGroups;
  readonly label: string;
  /** Writes a patch of the config; `done` says what it did. */
  readonly patch: (patch: unknown, done: string) => void;
}

const POLICIES: Readonly<Record<string, string>> = {
  allowlist: t("It hears only the groups that are named here."),
  open: t("It hears every group, but those that are kept out here."),
  disabled: t("It hears no group."),
};

/** The groups that an account hears, and lets in or out. */
export function Groups({ groups, label, patch }: GroupsProps): VNode {
  const { policy, named, place } = groups;
  const [id, setId] = useState("");
  const field = useId();
  const add = (isHeard: boolean): void => {
    if (id.trim() === "") return;
    patch(
      groupPatch([...place, id.trim()], isHeard),
      isHeard ? t("{group} is let in.", { group: id.trim() }) : t("{group} is kept out.", { group: id.trim() }),
    );
    setId("");
  };
  return (
    <details class="channel-capabilities">
      <summary>{t("Groups ({n} named)", { n: named.filter(({ isHeard }) => isHeard).length })}</summary>
      <p>
        {ownText(POLICIES, policy) ?? policy} {t("The key groupPolicy of the config says so.")}
      </p>
      <ul>
        {named.map((group) => (
          <GroupRow key={group.path.join(".")} group={group} patch={patch} />
        ))}
      </ul>
      <form
        class="channel-test"
        aria-label={t("A group of {label}", { label })}
        onSubmit={(event) => (event.preventDefault(), add(policy !== "open"))}
      >
        <label class="unseen" for={field}>
          {t("Id of a group")}
        </label>
        <input
          id={field}
          value={id}
          placeholder={t("id of a group, as the platform names it")}
          autocomplete="off"
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <button type="submit" class="quiet">
          {policy === "open" ? t("Keep out") : t("Let in")}
        </button>
      </form>
    </details>
  );
}

function GroupRow({ group, patch }: { readonly group: NamedGroup; readonly patch: GroupsProps["patch"] }): VNode {
  const { id, isHeard, path } = group;
  const name = id === "*" ? t("All others") : id;
  return (
    <li class="channel-actions">
      <span>
        <bdi>{name}</bdi>: {isHeard ? t("heard") : t("not heard")}
      </span>
      <button
        type="button"
        class={isHeard ? "quiet danger" : "quiet"}
        aria-label={isHeard ? t("Keep out: {name}", { name }) : t("Let in: {name}", { name })}
        onClick={() =>
          patch(
            groupPatch(path, !isHeard),
            isHeard ? t("{group} is kept out.", { group: name }) : t("{group} is let in.", { group: name }),
          )
        }
      >
        {isHeard ? t("Keep out") : t("Let in")}
      </button>
    </li>
  );
}
