import { setImmediate } from "node:timers";

/** How often each session was compacted: `assemble` then shows a summary in place of the messages before the turn. */
const compactions = new Map();

const SUMMARY = "SUMMARY OF THE RECORDER";

/** An engine that records each call. Its answers are those of a simple engine with a store of its own. */
export function createEngine(api, record) {
  const { owns = false, commits = false, completes = false, estimate, request: more } = api.pluginConfig;
  return {
    info: {
      id: "recorder",
      name: "Recorder",
      version: "1.0.0",
      ownsCompaction: owns,
      turnMaintenanceMode: "background",
      acceptedHostParams: ["sessionKey", "prompt", "runtimeContext", "runtimeSettings"],
      hostRequirements: {
        "agent-run": {
          requiredCapabilities: [
            "bootstrap",
            "assemble-before-prompt",
            "after-turn",
            "maintain",
            "compact",
            "runtime-llm-complete",
          ],
        },
        "subagent-spawn": { requiredCapabilities: ["thread-bootstrap-projection"] },
      },
      ...(commits && {
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      }),
    },
    async bootstrap(params) {
      record("bootstrap", params);
      return { bootstrapped: true, importedMessages: 0 };
    },
    async maintain(params) {
      record("maintain", params);
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    },
    async ingest(params) {
      record("ingest", params);
      return { ingested: true };
    },
    async assemble(params) {
      record("assemble", params);
      const { messages, prePromptMessageCount = messages.length, sessionId } = params;
      const count = compactions.get(sessionId);
      const summary = { role: "user", content: `${SUMMARY} ${count}`, timestamp: 1 };
      const shownMessages = count ? [summary, ...messages.slice(prePromptMessageCount)] : messages;
      return { messages: [...shownMessages], estimatedTokens: estimate ?? 100 * shownMessages.length };
    },
    async afterTurn(params) {
      record("afterTurn", params);
      if (completes) completeLater(api, record, { ...params, more });
    },
    async compact(params) {
      record("compact", params);
      compactions.set(params.sessionId, (compactions.get(params.sessionId) ?? 0) + 1);
      return { ok: true, compacted: true, result: { tokensBefore: 5000, tokensAfter: 500 } };
    },
    ...(commits && {
      async commitTurn(params) {
        record("commitTurn", params);
        return { status: "committed" };
      },
    }),
    async dispose() {
      record("dispose", {});
    },
  };
}

/** As engines that write summaries when the session is idle do: nobody waits for it, and no call of the host is under way. */
function completeLater(api, record, { runtimeContext, more }) {
  const messages = [{ role: "user", content: "the turn" }];
  const request = { messages, systemPrompt: "Summarise.", maxTokens: 64, ...more };
  const ask = async (name, llm) => {
    try {
      record(name, await llm.complete({ ...request, purpose: "recorder summarization" }));
    } catch (error) {
      record(name, { error: error.message });
    }
  };
  setImmediate(() => void ask("unbound completion", api.runtime.llm));
  setImmediate(() => void ask("bound completion", runtimeContext.llm));
}
