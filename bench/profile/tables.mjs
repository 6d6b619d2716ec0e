// Prints the sums of a profile.
import { printColumns } from "../kit/figures.mjs";

const TOP = 25;
const LEAST_SHARE = 0.003;

const share = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;

function print(title, rows) {
  console.log(`\n${title}\n`);
  printColumns(rows, rows[0].map((_, column) => column).slice(1));
}

const THREADS = {
  MainThread: "main",
  V8Worker: "V8: collector, compiler",
  "libuv-worker": "file system, fsync, DNS",
  "v8:ProfEvntProc": "the recorder of this profile",
};

/** `each` divides a sum by the number of units, and gives it with that many digits. */
export function printThreads(what, used, each) {
  const all = used.reduce((sum, one) => sum + one.cpuMs, 0);
  const some = used.filter((one) => one.cpuMs > all * LEAST_SHARE);
  const rows = some.map(({ name, cpuMs }) => [THREADS[name] ?? name, each(cpuMs, 2), share(cpuMs, all)]);
  print(`${what}: threads`, [["", "processor time", ""], ...rows, ["all", each(all, 2), ""]]);
}

export function printCollections(what, collections, each) {
  const rows = Object.entries(collections).map(([kind, { count, ms }]) => {
    return [kind, `${count}`, each(ms, 2), (ms / count).toFixed(2)];
  });
  print("pauses of the main thread for the collector", [["", "pauses", what, "ms each"], ...rows]);
}

const ofProject = (one) => /(?:^|\s)(?:src|extensions)\//.test(one.name);

/** `shown` turns a sum of the profile into what is printed for one unit. */
export function printSums(what, { total, modules, folders, functions }, shown) {
  const cells = (one, ...columns) => [
    one.name,
    ...columns.flatMap((name) => [shown(one[name]), share(one[name], total)]),
  ];
  const some = (one) => Math.max(one.self, one.owned) > total * LEAST_SHARE;
  const both = (rows) => [
    ["", "self", "", "owned", ""],
    ...rows.filter(some).map((one) => cells(one, "self", "owned")),
  ];
  const top = (rows, column) => [["", column, ""], ...rows.slice(0, TOP).map((one) => cells(one, column))];
  print(`${what}: modules (owned: with the packages, Node and native code that they call)`, both(modules.by("owned")));
  print(`${what}: folders of this project`, both(folders.by("owned").filter(ofProject)));
  print(`${what}: functions by self`, top(functions.by("self"), "self"));
  print(`${what}: functions of this project by owned`, top(functions.by("owned").filter(ofProject), "owned"));
}
