import type { ChatMessage } from "../types/run/model.ts";
import { dropBroken } from "./passes/broken.ts";
import { mapCallIds } from "./passes/call-ids.ts";
import { mendCalls } from "./passes/call-inputs.ts";
import { signCalls } from "./passes/call-signatures.ts";
import { fillContents } from "./passes/contents.ts";
import { stripDetails } from "./passes/details.ts";
import { limitImages, moveResultImages } from "./passes/images.ts";
import { markInterSession } from "./passes/inter-session.ts";
import { limitTurns } from "./passes/limit.ts";
import { pairTools } from "./passes/pairing.ts";
import { downgradeReasoning } from "./passes/reasoning.ts";
import { dropThinking, stripSignatures } from "./passes/thinking.ts";
import {
  bridgeToolResults,
  isPlainTalk,
  startWithUser,
  validateAnthropicTurns,
  validateGeminiTurns,
} from "./passes/turns.ts";
import { tellTools } from "./passes/plain-tools.ts";
import { strictly, type TranscriptPolicy } from "../providers/quirks.ts";

export interface HistoryPass {
  readonly name: string;
  /** A pure function. Returns the given array when there is nothing to do. Its cost grows with the window only. */
  apply(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[];
}

/** Makes a valid request of the transcript, in this order. The file is never changed. */
export const HISTORY_PASSES: readonly HistoryPass[] = [
  { name: "drop-broken", apply: dropBroken },
  { name: "inter-session", apply: markInterSession },
  { name: "images", apply: limitImages },
  { name: "call-ids", apply: mapCallIds },
  { name: "drop-thinking", apply: dropThinking },
  { name: "signatures", apply: stripSignatures },
  { name: "call-inputs", apply: mendCalls },
  { name: "contents", apply: fillContents },
  { name: "pair-tools", apply: pairTools },
  { name: "details", apply: stripDetails },
  { name: "plain-tools", apply: tellTools },
  { name: "user-turn-first", apply: startWithUser },
  { name: "reasoning", apply: downgradeReasoning },
  { name: "gemini-turns", apply: validateGeminiTurns },
  { name: "call-signatures", apply: signCalls },
  { name: "anthropic-turns", apply: validateAnthropicTurns },
  { name: "limit-turns", apply: (messages, policy) => limitTurns(messages, policy.earlierTurns) },
  { name: "pair-tools-again", apply: pairTools },
  { name: "result-images", apply: moveResultImages },
  { name: "user-turns-again", apply: validateAnthropicTurns },
  { name: "bridge", apply: bridgeToolResults },
];

/**
 * Asked before every call of a tool loop: gives back the very array when it is a valid request already, and messages
 * that need no change are the given ones. A longer conversation begins as it did before, byte for byte, so that the
 * provider's cache holds; not where older turns are left out (`earlierTurns`, images past their limit, in steps), where
 * a user turn follows one that got no answer and both become one, and where the policy itself is another.
 */
export function applyPasses(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  // Most conversations, and most of a long one's time in the passes.
  if (isPlainTalk(messages, policy)) return messages;
  const rules = policy.strict === true ? strictly(policy) : policy;
  return HISTORY_PASSES.reduce((current, pass) => pass.apply(current, rules), messages);
}
