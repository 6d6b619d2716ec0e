import type { ThinkLevel } from "../types/model.ts";
import { draftText, type BodyContext, type BodyDraft, type BodyStage } from "./draft.ts";
import { abortHint } from "./stages/abort-hint.ts";
import { bareReset } from "./stages/bare-reset.ts";
import { mediaNotes } from "./stages/media-notes.ts";
import { systemEvents } from "./stages/system-events.ts";
import { thinkLevel } from "./stages/think-level.ts";
import { threadNotes } from "./stages/thread-notes.ts";
import { untrustedContext } from "./stages/untrusted-context.ts";
import { untrustedMetadata } from "./stages/untrusted-metadata.ts";

/** How the user's turn is made. The order is the meaning: each later stage stands around what the earlier ones made. */
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

/** What the model will read as the user's turn, and what each stage added to it (characters; negative: taken away). */
export interface Body {
  readonly text: string;
  /** Set when the user's text began with a thinking level. */
  readonly thinking?: ThinkLevel;
  readonly trace: readonly { readonly stage: string; readonly added: number }[];
}

/** Runs the stages in order. Pure: the same context makes the same body. */
export function buildBody(context: BodyContext): Body {
  const trace: { stage: string; added: number }[] = [];
  let draft: BodyDraft = { before: [], user: "", after: [] };
  for (const stage of BODY_STAGES) {
    const before = draftText(draft).length;
    draft = stage.apply(draft, context);
    trace.push({ stage: stage.name, added: draftText(draft).length - before });
  }
  const thinking = draft.thinking === undefined ? {} : { thinking: draft.thinking };
  return { text: draftText(draft), ...thinking, trace };
}
