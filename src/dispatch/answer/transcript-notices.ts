import { createHash } from "node:crypto";
import { parseDirectives } from "../../reply/directives.ts";
import { NOTICE_TYPE } from "../../sessions/transcript/history.ts";
import type { RunId } from "../../types/ids.ts";
import type { Session } from "../../types/session.ts";
import type { RefusedAttachment } from "../../types/run/run.ts";
import type { AgentSettings } from "../../types/settings.ts";
import { attach } from "../media/attach.ts";
import type { DispatchPorts } from "../ports.ts";
import type { RunEnd } from "../../harness/log/run-end.ts";
import { noticeFor } from "../chat-texts.ts";

type NoticePorts = Pick<DispatchPorts, "media" | "closedPaths"> & {
  readonly agent: AgentSettings;
  readonly runId: RunId;
  /** Is told of each file of the answer that is not attached. */
  readonly refused: (refusal: RefusedAttachment) => void;
};

/** Appends what chats get as separate messages to the transcript for web clients: files, a change of model, a failure. */
export async function appendNotices(session: Session, end: RunEnd, ports: NoticePorts): Promise<void> {
  const { result, changes } = end;
  await appendFiles(session, end.texts, ports);
  for (const text of changes) await session.append({ type: "custom", customType: NOTICE_TYPE, data: { text } });
  const text = noticeFor(result);
  if (text === undefined) return;
  const data = { text, ...(result.kind === "failed" && { error: result.failure.message }) };
  await session.append({ type: "custom", customType: NOTICE_TYPE, data });
}

/** Appends the files of an answer, only once even after a restart. */
async function appendFiles(
  session: Session,
  texts: readonly string[],
  { agent: { workspace }, runId, media: store, closedPaths, refused }: NoticePorts,
): Promise<void> {
  const { media: refs, audioAsVoice } = parseDirectives(texts.join("\n\n"));
  if (refs.length === 0) return;
  const id = createHash("sha256").update(`files\n${runId}`).digest("hex").slice(0, 16);
  if ((await session.after(id)) !== undefined) return;
  const blocks = await attach(refs, audioAsVoice, {
    media: store,
    closedPaths,
    // The page is the operator's.
    guestOf: [],
    workspace,
    refused,
    sessionKey: session.key,
  });
  const text = blocks.flatMap((block) => (block.kind === "media" ? [] : [block.markdown])).join("\n\n");
  const media = blocks.flatMap((block) => (block.kind === "media" ? [block.media] : []));
  const data = { text, runId, ...(media.length > 0 && { media }) };
  await session.append({ type: "custom", customType: NOTICE_TYPE, data }, { id });
}
