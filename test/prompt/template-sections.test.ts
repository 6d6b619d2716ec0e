import { expect, it } from "vitest";
import { compactionConfig } from "../../src/history/compaction/config.ts";
import { sectionsReminder } from "../../src/prompt/after-compaction.ts";
import { WORKSPACE_TEMPLATES } from "../../src/prompt/templates.ts";

it("a new workspace's AGENTS.md has the sections that are shown again after a compaction", () => {
  const { postCompactionSections: sections } = compactionConfig.parse({});
  const text = sectionsReminder(WORKSPACE_TEMPLATES["AGENTS.md"], { sections, maxChars: 3000 });
  expect(text).toMatch(/## Session Startup\n\n- Read today's/);
  expect(text).toMatch(/## Red Lines\n\n- Ask before anything/);
});
