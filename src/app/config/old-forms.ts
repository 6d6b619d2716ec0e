import { isRecord, showPath, valueAt, type KeyPath, type RawNote } from "./schema/problem.ts";

/** One change of the config's value; an undefined value removes the key. */
export interface FormEdit {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** A key in a form of another version of OpenClaw, older or newer, and the changes that say the same here. */
interface FoundForm {
  readonly path: KeyPath;
  readonly edits: readonly FormEdit[];
}

/** Finds the places of one old form. The rows are applied in their order, so a later one sees what an earlier one wrote. */
type OldForm = (root: unknown) => readonly FoundForm[];

const CHANNELS = ["telegram", "whatsapp", "discord", "slack", "signal"];
const STREAM_MODES = new Set(["off", "partial", "block", "progress"]);

/** A key under another name. Where both are there, the new name counts, and objects are put together. */
const moved =
  (from: KeyPath, to: KeyPath, convert: (value: unknown) => unknown = (value) => value): OldForm =>
  (root) => {
    const given = valueAt(root, from);
    if (given === undefined) return [];
    const present = valueAt(root, to);
    const value = convert(given);
    const kept = isRecord(present) && isRecord(value) ? { ...value, ...present } : (present ?? value);
    return [
      {
        path: from,
        edits: [
          { path: from, value: undefined },
          { path: to, value: kept },
        ],
      },
    ];
  };

/** The row for each of several places. */
const each =
  (placesOf: (root: unknown) => readonly KeyPath[], row: (place: KeyPath) => OldForm): OldForm =>
  (root) =>
    placesOf(root).flatMap((place) => row(place)(root));

const replaced =
  (path: KeyPath, convert: (value: unknown) => unknown): OldForm =>
  (root) => {
    const given = valueAt(root, path);
    const value = given === undefined ? undefined : convert(given);
    return value === undefined ? [] : [{ path, edits: [{ path, value }] }];
  };

const below =
  (...path: KeyPath) =>
  (root: unknown): readonly KeyPath[] => {
    const value = valueAt(root, path);
    if (Array.isArray(value)) return value.map((_item, at) => [...path, at]);
    return isRecord(value) ? Object.keys(value).map((name) => [...path, name]) : [];
  };

/** The defaults of agents, and the entry of each. */
const agentSections = (root: unknown): readonly KeyPath[] => [
  ["agents", "defaults"],
  ...below("agents", "list")(root),
  ...below("agents", "entries")(root),
];

/** Channels, and their accounts. */
const accounts = (root: unknown): readonly KeyPath[] =>
  below("channels")(root).flatMap((channel) => [channel, ...below(...channel, "accounts")(root)]);

const streaming = (value: unknown): unknown => {
  if (typeof value === "string" && STREAM_MODES.has(value)) return { mode: value };
  return typeof value === "boolean" ? { mode: value ? "partial" : "off" } : undefined;
};

const present = (root: unknown): readonly string[] =>
  CHANNELS.filter((name) => isRecord(valueAt(root, ["channels", name])));

/** `routing.groupChat.requireMention` was about the groups of every channel. */
const mentionOfAll: OldForm = (root) => {
  const path = ["routing", "groupChat", "requireMention"];
  const value = valueAt(root, path);
  if (value === undefined) return [];
  const groups = present(root)
    .map((name) => ["channels", name, "requireMention"])
    .filter((place) => valueAt(root, place) === undefined);
  return [{ path, edits: [{ path, value: undefined }, ...groups.map((place) => ({ path: place, value }))] }];
};

/** A section that has become empty. */
const emptied =
  (path: KeyPath): OldForm =>
  (root) => {
    const value = valueAt(root, path);
    const isEmpty = isRecord(value) && Object.keys(value).length === 0;
    return isEmpty ? [{ path, edits: [{ path, value: undefined }] }] : [];
  };

/** Variables that stood in `env` itself. */
const variables: OldForm = (root) =>
  below("env")(root)
    .filter((path) => typeof valueAt(root, path) === "string" && /^[A-Z_][A-Z0-9_]*$/.test(String(path[1])))
    .flatMap((path) => moved(path, ["env", "vars", String(path[1])])(root));

/** `identity` was that of the only agent. Beside a list of agents nobody knows whose it is. */
const identity: OldForm = (root) => {
  const value = valueAt(root, ["identity"]);
  const hasAgents = ["list", "entries"].some((form) => valueAt(root, ["agents", form]) !== undefined);
  if (value === undefined || hasAgents) return [];
  const remove = { path: ["identity"], value: undefined };
  const add = { path: ["agents", "list"], value: [{ id: "main", default: true, identity: value }] };
  return [{ path: ["identity"], edits: [remove, add] }];
};

/** Servers said `disabled: true`. */
const disabled =
  (place: KeyPath): OldForm =>
  (root) => {
    const path = [...place, "disabled"];
    const value = valueAt(root, path);
    if (typeof value !== "boolean") return [];
    const enabled = [...place, "enabled"];
    const add = valueAt(root, enabled) === undefined ? [{ path: enabled, value: !value }] : [];
    return [{ path, edits: [{ path, value: undefined }, ...add] }];
  };

const OLD_FORMS: readonly OldForm[] = [
  ...CHANNELS.map((name) => moved([name], ["channels", name])),
  moved(["agent"], ["agents", "defaults"]),
  moved(["defaultModel"], ["agents", "defaults", "model"]),
  moved(["heartbeat"], ["agents", "defaults", "heartbeat"]),
  moved(["memorySearch"], ["agents", "defaults", "memorySearch"]),
  moved(["routing", "queue"], ["messages", "queue"]),
  moved(["routing", "bindings"], ["bindings"]),
  moved(["routing", "allowFrom"], ["channels", "whatsapp", "allowFrom"]),
  mentionOfAll,
  moved(["routing", "groupChat"], ["messages", "groupChat"]),
  emptied(["messages", "groupChat"]),
  emptied(["routing"]),
  identity,
  moved(["gateway", "token"], ["gateway", "auth", "token"]),
  variables,
  moved(["memory", "search"], ["agents", "defaults", "memorySearch"]),
  each(below("agents", "entries"), (place) => moved([...place, "memory", "search"], [...place, "memorySearch"])),
  each(below("agents", "entries"), (place) => emptied([...place, "memory"])),
  moved(["tts"], ["messages", "tts"]),
  moved(["messages", "tts", "elevenlabs"], ["messages", "tts", "providers", "elevenlabs"]),
  moved(["messages", "tts", "openai"], ["messages", "tts", "providers", "openai"]),
  ...["voiceId", "speakerVoice", "speakerVoiceId"].map((name) =>
    each(below("messages", "tts", "providers"), (place) => moved([...place, name], [...place, "voice"])),
  ),
  each(below("messages", "tts", "providers"), (place) => moved([...place, "modelId"], [...place, "model"])),
  moved(["agents", "defaults", "systemAgent", "agentId"], ["agents", "defaults", "agentId"]),
  emptied(["agents", "defaults", "systemAgent"]),
  each(agentSections, (place) =>
    moved([...place, "sandbox", "perSession"], [...place, "sandbox", "scope"], (value) =>
      value === true ? "session" : "shared",
    ),
  ),
  each(accounts, (place) => replaced([...place, "streaming"], streaming)),
  each(accounts, (place) => moved([...place, "streamMode"], [...place, "streaming", "mode"])),
  each(below("models", "providers"), (place) =>
    replaced([...place, "api"], (api) => (api === "openai" ? "openai-completions" : undefined)),
  ),
  each(below("mcp", "servers"), disabled),
];

export interface PresentForms {
  readonly value: unknown;
  /** One warning for each old form. Its path is the key in the file. */
  readonly warnings: readonly RawNote[];
  /** The changes of the file that say the same in the forms of today. */
  readonly edits: readonly FormEdit[];
}

/** The forms that are found in the value as it is, each by itself. */
export const formsIn = (root: unknown): readonly FoundForm[] => OLD_FORMS.flatMap((find) => find(root));

/** Reads old forms as those of today. The given value is not changed. */
export function withPresentForms(root: unknown): PresentForms {
  let value = root;
  const warnings: RawNote[] = [];
  const edits: FormEdit[] = [];
  for (const find of OLD_FORMS) {
    for (const form of find(value)) {
      value = form.edits.reduce(withEdit, value);
      edits.push(...form.edits);
      const says = form.edits.some((edit) => edit.value !== undefined);
      if (says) warnings.push({ path: form.path, at: "name", message: messageOf(form) });
    }
  }
  return { value, warnings, edits };
}

function messageOf({ path, edits }: FoundForm): string {
  const written = edits.filter(({ value }) => value !== undefined).map((edit) => showPath(edit.path));
  const isSame = written.length === 1 && written[0] === showPath(path);
  const how = isSame ? "is read in its present form" : `is read as ${written.join(", ")}`;
  return `${how}; openclaw doctor --fix writes it so`;
}

/** A copy of the data with one value changed. */
function withEdit(data: unknown, { path, value }: FormEdit): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (Array.isArray(data))
    return data.map((item: unknown, at) => (at === first ? withEdit(item, { path: rest, value }) : item));
  const own = isRecord(data) ? data : {};
  const child = rest.length === 0 ? value : withEdit(valueAt(own, [first]), { path: rest, value });
  const { [first]: _before, ...others } = own;
  if (rest.length === 0 && value === undefined) return others;
  return { ...own, [first]: child };
}
