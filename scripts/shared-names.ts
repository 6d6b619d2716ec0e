/**
 * Names that several files of src/ and of the extensions may export, because they have the same meaning in each of them.
 * Every other name is exported by one file, so that a reader who knows the name knows its meaning.
 */

/** Exports of one convention: each module or extension has its own, and a caller takes it by file. */
const CONVENTIONS: readonly string[] = ["checks", "contributor", "settings"];

/** Exports of chat adapters: the same part of each platform. At most one file of an extension has such a name. */
const OF_ADAPTERS: readonly string[] = [
  ..."Account Attachment BUTTON_LIMITS Intake MessageRef MessageView Person Reaction Self TOKEN_FIX Threads Trouble".split(
    " ",
  ),
  ..."actions addressOf albumOf askName badToken changes connect download idOf isBadToken mediaOf messageShape".split(
    " ",
  ),
  ..."messagesOf missedSince nameOf outcomeOf peerOf reasonOf receive sendText textOf".split(" "),
  ..."untrustedOf whoAmI wholeText".split(" "),
];

/** Exports of the chat page, which cannot import src/: its own form of what one file there exports. */
const OF_THE_PAGE: readonly string[] =
  "Approval GatewayStatus LoginView Plan PlanStep Sent SessionRights SessionRow Usage isRecord principalText".split(
    " ",
  );

const PAGE = "extensions/webchat/page/";
const DECLARATION =
  /^export (?:declare )?(?:async |abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;

/** The names that a file declares and exports. What it exports again from another file does not count. */
const declaredIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(DECLARATION)].flatMap(([, name]) => name ?? [])),
];

/**
 * Names that two files export, although no list above allows it, and names in the lists that only one file exports; one
 * line each. The paths are from the root.
 */
export function sharedNamesIn(texts: ReadonlyMap<string, string>): readonly string[] {
  const declared = [...texts].flatMap(([file, text]) => declaredIn(text).map((name) => ({ name, file })));
  const shared = [...Map.groupBy(declared, ({ name }) => name)]
    .map(([name, places]) => ({ name, files: places.map(({ file }) => file) }))
    .filter(({ files }) => files.length > 1);
  const known = new Set(shared.map(({ name }) => name));
  return [
    ...shared
      .filter(({ name, files }) => !isAllowed(name, files))
      .map(({ name, files }) => `${name} has one meaning: rename it in all but one of ${files.join(", ")}`),
    ...[...CONVENTIONS, ...OF_ADAPTERS, ...OF_THE_PAGE]
      .filter((name) => !known.has(name))
      .map((name) => `scripts/shared-names.ts: ${name} is exported by fewer than two files`),
  ];
}

function isAllowed(name: string, files: readonly string[]): boolean {
  if (CONVENTIONS.includes(name)) return true;
  const [ofPage, others] = [
    files.filter((file) => file.startsWith(PAGE)),
    files.filter((file) => !file.startsWith(PAGE)),
  ];
  if (OF_THE_PAGE.includes(name)) return ofPage.length === 1 && others.length === 1;
  const extensions = new Set(files.map((file) => file.split("/")[1]));
  const isApart = extensions.size === files.length && files.every((file) => file.startsWith("extensions/"));
  return OF_ADAPTERS.includes(name) && isApart;
}
