import type { Answers } from "openclaw/plugin-sdk/answers";
import type { VNode } from "preact";
import { decimal, size } from "../../model/format.ts";
import { ListRow, RowList, useAnswer, ViewFrame, type ViewProps } from "../views/view-parts.tsx";
import { t } from "../../words/words.ts";

/** A disk with less room than this share soon takes no writes. */
const LITTLE = 0.05;

interface MachineProps {
  readonly view: ViewProps;
  readonly status: Answers["status"];
}

/** The process and the machine, with shares of what there is. */
export function MachineRows({ view, status }: MachineProps): VNode {
  const read = useAnswer(view, { method: "system.info", changedBy: ["tick", "health"] });
  const info = read.answer;
  return (
    <ViewFrame problems={[read.problem]} isRead={info !== undefined}>
      <RowList title={t("Process and machine")}>
        {info ? [...processRows(status, info), ...machineRows(info)] : []}
      </RowList>
    </ViewFrame>
  );
}

type Info = Answers["system.info"];

function processRows({ pid }: Answers["status"], { processMemory, eventLoop, nodeVersion }: Info): readonly VNode[] {
  const { rssBytes, heapUsedBytes, heapTotalBytes } = processMemory;
  const { degraded, delayP99Ms, utilization } = eventLoop;
  return [
    <ListRow
      key="memory"
      title={t("Memory of the gateway")}
      facts={[
        t("{size} resident", { size: size(rssBytes) }),
        t("heap {used} of {all}", { used: size(heapUsedBytes), all: size(heapTotalBytes) }),
      ]}
    />,
    <ListRow
      key="busy"
      title={t("How busy it is")}
      facts={[
        utilization === undefined ? undefined : t("busy for {share} of the time", { share: percent(utilization) }),
        delayP99Ms === undefined
          ? undefined
          : t("99 of 100 events wait less than {n} ms", { n: Math.ceil(delayP99Ms) }),
        t("process {pid}, Node {version}", { pid: String(pid ?? ""), version: nodeVersion }),
      ]}
      error={degraded ? t("It is too busy: answers may come late.") : undefined}
    />,
  ];
}

function machineRows(info: Info): readonly VNode[] {
  const { machineName, osLabel, cpuCount, loadAverage, memoryTotalBytes, memoryFreeBytes } = info;
  const { diskPath, diskTotalBytes, diskAvailableBytes } = info;
  const [load = 0] = loadAverage;
  const taken = memoryTotalBytes - memoryFreeBytes;
  return [
    <ListRow
      key="machine"
      title={machineName}
      facts={[osLabel, t("{n} processor|{n} processors", { n: cpuCount }), t("load {load}", { load: decimal(load) })]}
    />,
    <ListRow
      key="ram"
      title={t("Memory of the machine")}
      facts={[t("{taken} of {all} taken", { taken: size(taken), all: size(memoryTotalBytes) })]}
    >
      <progress aria-label={t("Memory of the machine that is taken")} max={memoryTotalBytes} value={taken} />
    </ListRow>,
    ...(diskTotalBytes === undefined || diskAvailableBytes === undefined
      ? []
      : [
          <ListRow
            key="disk"
            title={t("Disk of the state")}
            facts={[t("{free} of {all} free", { free: size(diskAvailableBytes), all: size(diskTotalBytes) }), diskPath]}
            error={
              diskAvailableBytes < diskTotalBytes * LITTLE
                ? t("Little room is left. On a full disk no message is taken: make room.")
                : undefined
            }
          >
            <progress
              aria-label={t("Disk of the state that is taken")}
              max={diskTotalBytes}
              value={diskTotalBytes - diskAvailableBytes}
            />
          </ListRow>,
        ]),
  ];
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function sizeText(bytes: number | null, isAtLeast: boolean): string {
  if (bytes === null) return t("not counted");
  return isAtLeast ? t("at least {size}", { size: size(bytes) }) : size(bytes);
}

/** What becomes more while the gateway runs, the largest first, each with its bound. */
export function GrowthRows({ view }: { readonly view: ViewProps }): VNode {
  const read = useAnswer(view, { method: "system.growth" });
  const rows = (read.answer?.rows ?? []).filter(({ bytes, isBeyond }) => isBeyond || (bytes ?? 0) > 0);
  return (
    <ViewFrame problems={[read.problem]} isRead={read.answer !== undefined}>
      <RowList title={t("What grows")} empty={t("Nothing has grown yet.")}>
        {rows
          .toSorted((one, other) => (other.bytes ?? 0) - (one.bytes ?? 0))
          .map(({ name, path, bytes, atLeast, bound, keys, isBeyond, fix }) => (
            <ListRow
              key={`${name}:${path}`}
              title={`${name.charAt(0).toUpperCase()}${name.slice(1)}`}
              facts={[
                sizeText(bytes, atLeast === true),
                bound === null ? undefined : t("bound: {bound}", { bound }),
                keys[0],
                path,
              ]}
              error={
                isBeyond ? `${bound === null ? t("It has no bound.") : t("It is beyond its bound.")} ${fix}` : undefined
              }
            />
          ))}
      </RowList>
    </ViewFrame>
  );
}
