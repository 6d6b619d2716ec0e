import { logCompaction } from "../../harness/compaction/compact.ts";
import { WHOLE_MESSAGES, type RunEvent, type RunStream } from "../../types/run/events.ts";
import { modelName } from "../../types/run/model.ts";
import type { Log } from "../../types/log.ts";
import { Secret } from "../../types/secret.ts";
import type { Approval, ApprovalQuestion } from "../../types/run/tool.ts";
import { UNASKED_TEXTS } from "../../types/run/unasked.ts";
import { background } from "../../utils/background.ts";
import { readableName } from "../../utils/text/clean-text.ts";
import { shorten } from "../../utils/text/shorten.ts";

/**
 * Logs one line per decision of a run that an operator would ask about, until the run ends. `asked` is called when a
 * model is called.
 */
export function logRun(stream: RunStream, root: Log, asked: () => void = () => undefined): void {
  const log = root.with({ run: stream.facts.runId, session: stream.facts.sessionKey });
  background("log of a run", logEvents(stream, log, asked), log);
}

async function logEvents(stream: RunStream, log: Log, asked: () => void): Promise<void> {
  for await (const event of stream.watch(1, WHOLE_MESSAGES)) {
    if (event.type === "attempt_start") asked();
    logEvent(event, log);
  }
}

function logEvent(event: RunEvent, log: Log): void {
  switch (event.type) {
    case "run_start":
      log.info("run started", { agent: event.facts.agentId, trigger: event.facts.trigger });
      return;
    case "attempt_start":
      log.info("model call", {
        model: modelName(event.model),
        ...(event.profile !== undefined && { key: event.profile }),
        thinking: event.thinking,
        messages: event.messages,
        tokens: event.estimatedTokens,
      });
      return;
    case "tool_end":
      log.info("tool", { tool: readableName(event.name), failed: event.isError, ms: event.durationMs });
      return;
    case "retry":
      log.warn("retry", { because: event.because, remedy: event.remedy, message: event.message });
      return;
    case "model_change":
      log.warn("another model answered", { model: modelName(event.to), wanted: modelName(event.from) });
      return;
    case "compaction":
      logCompaction(event, log);
      return;
    case "notice":
      log.info(event.text, { because: event.because });
      return;
    case "run_end":
      logEnd(event, log);
      return;
    default:
      logQuestion(event, log);
  }
}

function logQuestion(event: RunEvent, log: Log): void {
  if (event.type === "approval_request") log.info("approval asked", askedFields(event.approval));
  if (event.type === "approval_unasked")
    log.warn("approval not asked", { ...questionFields(event.question), why: UNASKED_TEXTS[event.cause] });
  if (event.type === "approval_end")
    log.info("approval answered", { approval: event.id, decision: event.decision, by: event.by });
}

/** Characters of a command: enough to recognise it, but not a whole script. */
const MOST_COMMAND = 300;

const askedFields = ({ id, ...question }: Approval) => ({ approval: id, ...questionFields(question) });

/**
 * The fields of a question in the log. The command is masked before it is shortened: a secret that is cut in two would
 * not be recognised.
 */
function questionFields({ command, cwd, reason }: ApprovalQuestion): Readonly<Record<string, string>> {
  const line = shorten(Secret.mask(command).replaceAll(/\s+/g, " "), MOST_COMMAND);
  return { command: line, cwd, because: reason };
}

function logEnd(event: Extract<RunEvent, { type: "run_end" }>, log: Log): void {
  const { receipt, result } = event;
  const fields = {
    ms: receipt.durationMs,
    calls: receipt.calls,
    input: receipt.usage.input,
    output: receipt.usage.output,
  };
  if (result.kind === "failed")
    log.error("run failed", { ...fields, why: result.failure.kind, message: result.failure.message });
  else log.info("run ended", { ...fields, result: result.kind });
}
