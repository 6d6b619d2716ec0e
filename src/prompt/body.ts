import type { ThinkLevel } from "../types/run/model.ts";
import { draftText, type BodyContext, type BodyDraft, type BodyStage } from "./draft.ts";
import { BUILT_IN, type TextPart } from "./parts.ts";
import { abortHint } from "./stages/abort-hint.ts";
import { BARE_RESET, bareReset } from "./stages/bare-reset.ts";
import { mediaNotes } from "./stages/media-notes.ts";
import { systemEvents } from "./stages/system-events.ts";
import { thinkLevel } from "./stages/think-level.ts";
import { threadNotes } from "./stages/thread-notes.ts";
import { untrustedContext } from "./stages/untrusted-context.ts";
import { untrustedMetadata } from "./stages/untrusted-metadata.ts";

/** The stages that make the user's text. The order matters: each stage puts its text around that of the earlier ones. */
export const BODY_STAGES: readonly BodyStage[] = [
  bareReset,
  untrustedMetadata,
  abortHint,
  systemEvents,
  untrustedContext,
  threadNotes,
  mediaNotes,
  thinkLevel,
];

/** The user's turn as the model reads it. */
export interface Body {
  readonly text: string;
  /** Set when the user's text began with a thinking level. */
  readonly thinking?: ThinkLevel;
  /** What each stage added (characters; negative: taken away). */
  readonly trace: readonly { readonly stage: string; readonly added: number }[];
  /** The pieces of the text in order: those that stages added, by their names, around the text of the `message`. */
  readonly parts: readonly TextPart[];
}

/** Runs the stages in order. Pure: the same context makes the same body. */
export function buildBody(context: BodyContext): Body {
  const trace: { stage: string; added: number }[] = [];
  const blocks: Blocks = { before: [], after: [] };
  let draft: BodyDraft = { before: [], user: "", after: [] };
  let text = draftText(draft);
  for (const stage of BODY_STAGES) {
    const next = stage.apply(draft, context);
    const after = next === draft ? text : draftText(next);
    note(blocks, stage, { from: draft, to: next });
    trace.push({ stage: stage.name, added: after.length - text.length });
    draft = next;
    text = after;
  }
  const thinking = draft.thinking === undefined ? {} : { thinking: draft.thinking };
  return { text, ...thinking, trace, parts: partsOf(blocks, draft, context) };
}

interface Blocks {
  readonly before: TextPart[];
  readonly after: TextPart[];
}

/** Stages put their blocks outermost, at either end. */
function note(blocks: Blocks, stage: BodyStage, { from, to }: { from: BodyDraft; to: BodyDraft }): void {
  const { name, source } = stage;
  const before = to.before.slice(0, to.before.length - from.before.length);
  blocks.before.unshift(...before.map((text) => ({ name, source, text })));
  blocks.after.push(...to.after.slice(from.after.length).map((text) => ({ name, source, text })));
}

function partsOf(blocks: Blocks, { user }: BodyDraft, { message }: BodyContext): readonly TextPart[] {
  const source = user === BARE_RESET ? BUILT_IN : `${message.from.channel} message ${message.id}`;
  const all = [...blocks.before, { name: "message", source, text: user }, ...blocks.after];
  const shown = all.filter((part) => part.text.trim() !== "");
  const parts: TextPart[] = [];
  for (const [index, part] of shown.entries()) {
    const text = index === 0 ? part.text : `\n\n${part.text}`;
    const last = parts.at(-1);
    if (last?.name === part.name) parts.splice(-1, 1, { ...last, text: last.text + text });
    else parts.push({ ...part, text });
  }
  return parts;
}
