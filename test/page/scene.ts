import type { FakeGateway } from "./fake-gateway.ts";
import { said } from "./fake-gateway.ts";

const ANSWER = `Two of the three backups are **current**; the one of \`photos\` stopped on Tuesday.

| folder | last backup | size |
| --- | --- | ---: |
| documents | today, 04:10 | 2.1 GB |
| mail | today, 04:12 | 860 MB |
| photos | Tuesday, 04:15 | 41 GB |

The disk it writes to is full. This shows what takes the room:

\`\`\`sh
du -h --max-depth=1 /mnt/backup | sort -h | tail -3
\`\`\`

1. Delete the snapshots from before June (about 60 GB).
2. Start the backup of \`photos\` again.

Shall I do both?`;

/** A conversation worth a look. */
export function scene(gateway: FakeGateway): void {
  const hour = 3_600_000;
  const now = Date.now();
  const main = {
    key: "webchat:default:operator",
    label: "Backups",
    updatedAt: now - 60_000,
    inputTokens: 18_420,
    outputTokens: 1260,
  };
  gateway.rows = [
    { ...main, totalTokens: 19_680, contextTokens: 200_000, model: "large", modelProvider: "acme" },
    {
      key: "telegram:default:42",
      label: "Trip to the lake",
      updatedAt: now - 2 * hour,
      totalTokens: 1,
      hasActiveRun: true,
    },
    { key: "slack:work:group:C042", updatedAt: now - 5 * hour },
    { key: "webchat:default:1", label: "Rewrite the invoice script", updatedAt: now - 26 * hour },
    { key: "discord:default:group:981", label: "Book club", updatedAt: now - 60 * hour },
  ];
  gateway.write(said("user", "Did the backups run last night?"));
  const call = {
    type: "toolCall",
    id: "t1",
    name: "exec",
    arguments: { command: "restic snapshots --latest 1 --json" },
  };
  const second = { type: "toolCall", id: "t2", name: "read", arguments: { path: "logs/photos.log" } };
  gateway.write({
    role: "assistant",
    content: [{ type: "text", text: "I will look at the snapshots and the log." }, call, second],
  });
  gateway.write({ role: "toolResult", toolCallId: "t1", content: [{ type: "text", text: "[…]" }] });
  gateway.write({ role: "toolResult", toolCallId: "t2", content: [{ type: "text", text: "no space left on device" }] });
  gateway.write({ ...said("assistant", ANSWER), model: "large", usage: { input: 6140, output: 420, cacheRead: 0 } });
}
