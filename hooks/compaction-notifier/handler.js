/** Says in the chat that its conversation is made shorter. */
export function tell({ action, messages, context }) {
  if (action === "compact:before") {
    messages.push("🧹 The older part of this conversation is being summarised, to make room.");
    return;
  }
  const { compactedCount, tokenCount } = context;
  const count = compactedCount > 0 ? ` of ${compactedCount} messages` : "";
  const size = tokenCount > 0 ? `; about ${tokenCount.toLocaleString("en")} tokens are left` : "";
  messages.push(`🧹 The summary${count} is done${size}.`);
}
