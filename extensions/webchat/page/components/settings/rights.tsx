import type { VNode } from "preact";
import type { Right, Rights, ToolRight } from "../../settings/rights.ts";
import { t } from "../../words/words.ts";

/**
 * Rights of a turn that the operator writes in this session. The view changes nothing: the config decides the rights.
 */
export function SessionRights({ rights }: { readonly rights: Rights }): VNode | null {
  const { sandbox, exec, tools } = rights;
  if (sandbox.length + exec.length + tools.length === 0) return null;
  return (
    <>
      <Facts title={t("Sandbox")} facts={sandbox} />
      <Facts title={t("Commands")} facts={exec} />
      <Tools tools={tools} />
    </>
  );
}

function Facts({ title, facts }: { readonly title: string; readonly facts: readonly Right[] }): VNode | null {
  if (facts.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl class="rights">
        {facts.map(({ label, value, source }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {value}
              {source !== undefined && <span class="right-source">{source}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Tools({ tools }: { readonly tools: readonly ToolRight[] }): VNode | null {
  if (tools.length === 0) return null;
  const allowed = tools.filter(({ isAllowed }) => isAllowed).length;
  return (
    <section aria-label={t("Tools")}>
      <h3>{t("Tools")}</h3>
      <details class="right-tools">
        <summary>{t("{allowed} of {all} tools are allowed", { allowed, all: tools.length })}</summary>
        <dl class="rights">
          {tools.map(({ tool, isAllowed, source }) => (
            <div key={tool}>
              <dt>{tool}</dt>
              <dd>
                {isAllowed ? t("allowed") : t("removed")}
                {source !== undefined && <span class="right-source">{source}</span>}
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}
