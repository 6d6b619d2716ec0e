import { extname, isAbsolute, join } from "node:path";
import type { Identity, ShownAvatar } from "../../types/answers/agents.ts";
import { readRegular } from "../../utils/read-regular.ts";
import { isInside, realOf } from "../../utils/real-path.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { readContextFile } from "./context-files.ts";

const FIELDS = { name: "name", theme: "theme", creature: "theme", vibe: "theme", emoji: "emoji", avatar: "avatar" };
type Label = keyof typeof FIELDS;

const isLabel = (text: string): text is Label => Object.hasOwn(FIELDS, text);

/**
 * The identity in lines such as `- **Name:** Robin`; the first of several lines for a key counts. A value in brackets
 * is a blank to fill in. Pure.
 */
export function parseIdentity(text: string): Identity {
  const found: Partial<Record<(typeof FIELDS)[Label], string>> = {};
  for (const line of text.split("\n")) {
    const plain = line.replaceAll(/[*_`]{1,3}/g, "").replace(/^\s*[-+]?\s*/, "");
    const [, label = "", value = ""] = /^([a-z]+)\s*:\s*(.+)$/i.exec(plain) ?? [];
    const key = label.toLowerCase();
    if (!isLabel(key) || /^\s*[([<].*[)\]>]\s*$/.test(value)) continue;
    found[FIELDS[key]] ??= value.trim();
  }
  return found;
}

/** The identity in `IDENTITY.md` of a workspace; an empty one without the file. Throws as `readContextFile` does. */
export async function workspaceIdentity(workspace: string): Promise<Identity> {
  const { content = "" } = await readContextFile(workspace, "IDENTITY.md");
  return parseIdentity(content);
}

/** Most bytes of a picture. */
const MOST_AVATAR_BYTES = 2_097_152;

const PICTURES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp",
  ".gif": "image/gif",
  ".svg": "image/svg+xml",
};

/**
 * The picture of an avatar. A file must be a picture inside the workspace, also after its links are resolved. Never
 * rejects.
 */
export async function showAvatar(avatar: string | undefined, workspace: string): Promise<ShownAvatar> {
  if (avatar === undefined || avatar === "") return { avatarStatus: "none" };
  if (/^data:/i.test(avatar))
    return /^data:image\/[a-z0-9.+-]+[;,]/i.test(avatar)
      ? { avatar, avatarSource: "data", avatarStatus: "data" }
      : { avatarStatus: "none", avatarReason: "it is no data URI of a picture" };
  const of = { avatarSource: avatar };
  if (/^https?:\/\//i.test(avatar)) return { avatar, ...of, avatarStatus: "remote" };
  const local = await readPicture(avatar, workspace);
  return "reason" in local
    ? { ...of, avatarStatus: "none", avatarReason: local.reason }
    : { ...of, avatar: local.uri, avatarStatus: "local" };
}

async function readPicture(avatar: string, workspace: string): Promise<{ uri: string } | { reason: string }> {
  const type = PICTURES[extname(avatar).toLowerCase()];
  if (type === undefined) return { reason: "it is no picture" };
  if (isAbsolute(avatar) || avatar.startsWith("~")) return { reason: "it is no file of the workspace" };
  try {
    const [real, root] = await Promise.all([realOf(join(workspace, avatar)), realOf(workspace)]);
    if (!isInside(real, root)) return { reason: "it is no file of the workspace" };
    return { uri: `data:${type};base64,${(await readRegular(real, MOST_AVATAR_BYTES)).toString("base64")}` };
  } catch (error) {
    return { reason: errorText(error) };
  }
}

/** The keys of an agent's entry for an identity; an empty text removes a key. Pure. */
export const identityKeys = (identity: Identity): readonly (readonly [string, unknown])[] =>
  Object.entries(identity).map(([key, value]) => [`identity.${key}`, value === "" ? undefined : value]);
