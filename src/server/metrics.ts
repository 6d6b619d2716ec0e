export interface MetricRow {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Prometheus text format 0.0.4. Rows with the same name are grouped under the heading of the first. */
export function formatMetrics(rows: readonly MetricRow[]): string {
  return [...Map.groupBy(rows, (row) => row.name).values()].map(formatGroup).join("");
}

function formatGroup(rows: readonly MetricRow[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const help = first.help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const head = `# HELP ${first.name} ${help}\n# TYPE ${first.name} ${first.type}\n`;
  return head + rows.map((row) => `${row.name}${formatLabels(row.labels)} ${formatValue(row.value)}\n`).join("");
}

function formatLabels(labels: MetricRow["labels"]): string {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeLabel = (text: string) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

function formatValue(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}
