import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { fields, nonEmpty, shortNameIn } from "../model/json.ts";
import type { ToolPart } from "../model/transcript.ts";
import { Icon } from "./common/icons.tsx";
import { seen, t } from "../words/words.ts";

/** A tool call with its result; the details are closed at first. */
export function ToolCall(props: { part: ToolPart }): VNode {
  const { part } = props;
  return useMemo(
    () => (
      <details class={`tool ${part.state}`}>
        <summary>
          <Icon name="tool" />
          <span class="tool-name">{shortNameIn(part.name)}</span>
          <span class="tool-brief">{summaryOf(part.args)}</span>
          <span class="tool-state">{part.state}</span>
          <Icon name="chevron" />
        </summary>
        <div class="tool-body">
          <p class="tool-part">{t("Arguments")}</p>
          <pre tabIndex={0}>{pretty(part.args)}</pre>
          {part.result !== "" && (
            <>
              <p class="tool-part">{part.state === "failed" ? t("Error") : t("Result")}</p>
              <pre tabIndex={0}>{part.result}</pre>
            </>
          )}
        </div>
      </details>
    ),
    [part],
  );
}

/** Characters that fit into one line of the widest page. */
const MOST_BRIEF = 300;

function summaryOf(args: unknown): string {
  const named = fields(args);
  const first = ["command", "path", "file_path", "pattern", "query", "url"].flatMap(
    (name) => nonEmpty(named[name]) ?? [],
  );
  return seen((first[0] ?? nonEmpty(Object.values(named)[0]) ?? "").slice(0, MOST_BRIEF).replace(/\s+/g, " "));
}

function pretty(args: unknown): string {
  return typeof args === "string" ? args : (JSON.stringify(args, undefined, 2) ?? "none");
}
